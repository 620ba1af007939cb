"""Numbers that blow up: found in their step, named, and the last good state kept."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfssl.data import batches
from tfssl.models import M1, M2, LatentM2
from tfssl.models.likelihoods import make_likelihood
from tfssl.models.optimizers import FusedAdam
from tfssl.settings import load_settings
from tfssl.training.divergence import DivergenceError, StopOnDivergence, explain_divergence
from tfssl.training.run import train
from tfssl.training.stage import Stage

ROWS, STEPS, BAD_STEP = 8, 6, 4


def six_batches(rng, part=None):
    """Six batches for M2, of which the fourth has a NaN in `part`."""
    found = []
    for step in range(STEPS):
        x = {name: rng.random((ROWS, 5), np.float32) for name in ("labelled", "unlabelled")}
        if step + 1 == BAD_STEP and part is not None:
            x[part][0, 0] = np.nan
        y = tf.one_hot(np.arange(ROWS) % 3, 3)
        found.append({"labelled": (x["labelled"], y), "unlabelled": x["unlabelled"]})
    return found


def stage_of(name, network):
    """A stage of three steps an epoch, for its messages."""
    return Stage(name, network, None, 3, 3, epochs=2, learning_rate=1e-2, chance=1.0)


def fit(found, steps_per_call=1):
    """A new M2 after a pass over the batches, and the error that ended it."""
    model = M2(5, 3, 20, 100, latent_dim=2, hidden_units=(4,), likelihood="gaussian")
    model.compile(FusedAdam(1e-2), jit_compile=False, steps_per_execution=steps_per_call)
    model.optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_generator(
        lambda: iter(found),
        output_signature=tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), found[0]),
    )
    try:
        with explain_divergence(stage_of("m2", model)):
            model.fit(data, steps_per_epoch=len(found), shuffle=False, verbose=0)
    except DivergenceError as error:
        return model, str(error)
    return model, None


@pytest.mark.parametrize(
    ("part", "steps_per_call", "terms"),
    [
        ("unlabelled", 1, "loss, unlabelled_loss, label_entropy"),
        ("labelled", STEPS, "loss, labelled_loss, classification_loss, reconstruction, kl_z"),
    ],
)
def test_a_bad_step_is_named_and_changes_no_weight(rng, part, steps_per_call, terms):
    found = six_batches(rng, part)
    model, message = fit(found, steps_per_call)
    expected = f"training of m2 diverged at step 4, in epoch 2: {terms} not finite. Lower the"
    assert message.startswith(expected)
    before, _ = fit(found[: BAD_STEP - 1])
    for a, b in zip(model.get_weights(), before.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_bad_gradient_of_a_good_loss_is_found(rng):
    class Steep(M1):
        def batch_losses(self, batch, seed, training):
            losses = super().batch_losses(batch, seed, training)
            # sqrt has an infinite slope at 0: finite loss, gradient 0 * inf.
            return losses | {"loss": losses["loss"] + tf.sqrt(0.0 * losses["kl_z"])}

    model = Steep(5, 2, (4,), "gaussian")
    model.compile(FusedAdam(1e-2), jit_compile=False)
    x = rng.random((ROWS, 5), np.float32)
    with (
        pytest.raises(DivergenceError, match=r"at step 1.* the gradient of a finite loss not fin"),
        explain_divergence(stage_of("m1", model)),
    ):
        model.fit(tf.data.Dataset.from_tensors({"unlabelled": x}), shuffle=False, verbose=0)


def test_the_last_good_checkpoint_is_kept_and_goes_on(tmp_path, monkeypatch):
    """A NaN on the way from the memory to the network, in the third of four epochs."""
    options = ["model=m1", "m1.classifier=knn", "m1.epochs=4", "m1.hidden_units=[8]"]
    options += ["m1.latent_dim=4", "m1.batch_size=200", "checkpoint_seconds=0"]
    settings = load_settings(None, options)
    steps = 7  # of an epoch: 1297 points
    sound = batches.unlabelled

    def spoilt(x, rows, seed, transform, start_step, max_shift):
        def spoil(step, batch):
            bad = tf.where(start_step + step == 2 * steps + 2, np.nan, 0.0)
            return {"unlabelled": batch["unlabelled"] + tf.cast(bad, tf.float32)}

        dataset = sound(x, rows, seed, transform, start_step, max_shift)
        return dataset.enumerate().map(spoil)

    monkeypatch.setattr(batches, "unlabelled", spoilt)
    run_dir = tmp_path / "run"
    with pytest.raises(DivergenceError) as caught:
        train(settings, run_dir)
    message = str(caught.value)
    assert "training of m1 diverged at step 17, in epoch 3: loss, reconstruction" in message
    assert f"The last good state is kept in {run_dir / 'm1' / 'checkpoint.npz'}" in message
    with np.load(run_dir / "m1" / "checkpoint.npz") as state:
        assert len(json.loads(str(state["history"]))) == 2
        assert all(np.isfinite(state[name]).all() for name in state.files if name[0] == "v")
    monkeypatch.setattr(batches, "unlabelled", sound)
    healed = train(settings, run_dir, resume=True)
    whole = train(settings, tmp_path / "whole")
    for a, b in zip(healed.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("losses", "epochs", "steps", "stops_in"),
    [
        ([100, 90, 80], 3, 100, None),
        ([100, 14_000, 90], 30, 100, None),  # it heals
        ([100, 14_000, 14_000, 14_000], 30, 100, 4),
        ([100, 14_000, 14_000, 14_000, 14_000, 90], 30, 10, None),  # 40 steps
        ([100, 14_000, 14_000, 14_000, 14_000, 14_000], 30, 10, 6),  # 50
        ([100, 90, 14_000], 3, 100, 3),  # the last one
        ([100, np.inf], 30, 100, 2),
    ],
)
def test_a_huge_loss_is_divergence_unless_it_heals(losses, epochs, steps, stops_in):
    model = M1(64, 2, (4,), "bernoulli")
    watch = StopOnDivergence(chance=64 * np.log(2))
    watch.set_model(model)
    watch.set_params({"epochs": epochs, "steps": steps})
    for epoch, loss in enumerate(losses):
        logs = {"loss": loss, "reconstruction": loss - 5.0, "kl_z": 5.0}
        if epoch + 1 == stops_in:
            with pytest.raises(DivergenceError, match=f"epoch {epoch + 1}.*reconstruction"):
                watch.on_epoch_end(epoch, logs)
        else:
            watch.on_epoch_end(epoch, logs)


def test_a_slow_divergence_is_found_though_training_is_interrupted():
    """Uninterrupted it stops in epoch 4: so it does if it is resumed after any epoch."""
    losses = [{"loss": v, "reconstruction": v, "kl_z": 0.0} for v in (100, 9e9, 9e9, 9e9)]
    for done in range(4):
        watch = StopOnDivergence(64 * np.log(2), losses[:done])
        watch.set_model(M1(64, 2, (4,), "bernoulli"))
        watch.set_params({"epochs": 30, "steps": 100})
        for epoch in range(done, 3):
            watch.on_epoch_end(epoch, losses[epoch])
        with pytest.raises(DivergenceError, match="diverged by epoch 4"):
            watch.on_epoch_end(3, losses[3])


def test_a_run_that_ends_with_an_absurd_loss_says_so(tmp_path):
    options = ["model=m2", "likelihood=gaussian", "m2.epochs=3", "m2.learning_rate=30"]
    with pytest.raises(DivergenceError, match="diverged"):
        train(load_settings(None, options), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "running"


def test_chance_is_what_a_model_that_knows_nothing_loses(rng):
    """Against the distributions themselves, on data as the models see them."""
    from scipy import stats

    x = rng.standard_normal((4000, 6))
    chance = {
        name: make_likelihood(name, 6, 4, 16, seed=0).chance_loss(x)
        for name in ("gaussian", "isotropic", "bernoulli", "binomial")
    }
    assert chance["gaussian"] == pytest.approx(-stats.norm.logpdf(x).sum(1).mean())
    assert chance["isotropic"] == chance["gaussian"]
    assert chance["bernoulli"] == pytest.approx(-6 * stats.bernoulli(0.5).logpmf(1))
    blank = -6 * stats.binom(16, 0.5).logpmf(0)  # the worst there is
    assert chance["binomial"] == pytest.approx(blank)
    # Of q(z1|x), the expectation over z1.
    loc, scale = x[:, :3], np.exp(x[:, 3:])
    expected = 0.5 * (3 * np.log(2 * np.pi) + (loc**2 + scale**2).sum(1).mean())
    features = np.concatenate([loc, scale], axis=1)
    latent = LatentM2(3, 5, 10, 100, latent_dim=2, hidden_units=(4,), likelihood="gaussian")
    assert latent.chance_loss(features) == pytest.approx(expected + np.log(5))


NUMBERS = np.random.default_rng(0).normal(size=(90, 4))
EXTREMES = {
    "pixels": np.stack([np.full((6, 6), 255 * (i % 3 == 0), np.uint8) for i in range(90)]),
    "features": np.column_stack(
        [
            np.ones(90),  # constant
            NUMBERS[:, 0] * 1e30,
            NUMBERS[:, 1] * 1e-30,
            NUMBERS[:, 2] + 1e7,
            np.r_[NUMBERS[1:, 3], 1e6],  # one far out
            np.repeat(NUMBERS[:9, 0], 10),  # duplicates
        ]
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_data_trains_to_finite_numbers(name, tmp_path):
    x = EXTREMES[name]
    np.savez(tmp_path / "own.npz", x=x, y=np.arange(90) % 3)
    likelihood = "bernoulli" if x.dtype == np.uint8 else "gaussian"
    options = [f'data.name="{tmp_path}/own.npz"', f"likelihood={likelihood}", "model=m2"]
    options += ["data.num_labelled=9", "data.num_test=30", "m2.epochs=3", "m2.hidden_units=[8]"]
    options += ["m2.latent_dim=2", "m2.supervised_steps=3", "seed=1"]
    run = train(load_settings(None, options), tmp_path / "run")
    assert all(np.isfinite(w).all() for w in run.model.get_weights())
    for epoch in run.folder.read_json("history.json")["m2"]:
        assert np.isfinite(list(epoch.values())).all()
    np.testing.assert_allclose(run.probabilities(x).sum(axis=1), 1.0, rtol=1e-5)


def test_huge_logits_give_finite_losses_and_gradients(rng):
    model = M2(5, 3, 20, 100, latent_dim=2, hidden_units=(4,), likelihood="gaussian")
    model.label_layer.set_weights(
        [w * 0 + [1e30, -1e30, 0.0] for w in model.label_layer.get_weights()]
    )
    batch = six_batches(rng)[0]
    with tf.GradientTape() as tape:
        losses = model.batch_losses(batch, tf.constant([0, 0]), training=True)
    gradients = tape.gradient(losses["unlabelled_loss"], model.trainable_variables)
    assert np.isfinite(losses["unlabelled_loss"])
    for gradient in gradients:
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()
