"""How the sum over the classes is taken: against a loop, in training and evaluation, and saved."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tfssl.errors import InputError
from tfssl.models import M2
from tfssl.models.enumeration import (
    AllClasses,
    Enumeration,
    LikeliestClasses,
    TruncateLater,
    loss_per_class,
)

D, K, Z = 6, 3, 4
SEED = tf.constant([3, 4])


def make_m2(likelihood="gaussian", **kwargs):
    return M2(D, K, 10, 90, Z, (8,), likelihood, **kwargs)


def make_batch(rng, binary=False):
    x = rng.normal(size=(12, D)).astype(np.float32)
    x = tf.constant((x > 0).astype(np.float32) if binary else x)
    return {"labelled": (x[:5], tf.one_hot(rng.integers(0, K, 5), K)), "unlabelled": x[5:]}


@pytest.mark.parametrize("posterior_scale", ["x", "xy"])
@pytest.mark.parametrize("likelihood", ["bernoulli", "binomial", "gaussian", "isotropic"])
def test_enumeration_equals_a_loop_over_classes(likelihood, posterior_scale, rng):
    m2 = make_m2(likelihood, posterior_scale=posterior_scale, total_count=1)
    x = make_batch(rng, binary=likelihood in ("bernoulli", "binomial"))["unlabelled"]
    epsilon = tf.constant(rng.normal(size=(7, Z)), tf.float32)
    together = loss_per_class(m2, x, epsilon)
    assert together.shape == (7, K)
    for k in range(K):
        y = tf.one_hot([k] * 7, K)
        np.testing.assert_allclose(together[:, k], m2.loss_terms(x, y, epsilon)[0], rtol=2e-5)


@pytest.mark.parametrize("top_classes", [1, 2, K])
def test_truncated_enumeration_uses_the_likeliest_classes(top_classes, rng):
    """U with q(y|x) kept to the top classes, from a loop over them; with all K it is exact."""
    m2 = make_m2(top_classes=top_classes)
    x = make_batch(rng)["unlabelled"]
    epsilon = tf.constant(rng.normal(size=(7, Z)), tf.float32)
    logits = m2.label_logits(x)
    per_class = loss_per_class(m2, x, epsilon).numpy()
    kept = np.argsort(-logits.numpy(), axis=1)[:, :top_classes]
    log_q = special.log_softmax(np.take_along_axis(logits.numpy(), kept, axis=1), axis=1)
    expected = (np.exp(log_q) * (np.take_along_axis(per_class, kept, axis=1) + log_q)).sum(axis=1)
    np.testing.assert_allclose(
        m2.enumeration.unlabelled_loss(m2, x, epsilon, logits), expected, rtol=1e-4
    )


def test_truncating_nothing_changes_no_value_and_no_gradient(rng):
    batch, found = make_batch(rng), []
    for top_classes in (None, K):
        m2 = make_m2(top_classes=top_classes)
        with tf.GradientTape() as tape:
            losses = m2.batch_losses(batch, SEED, training=True)
        gradients = tape.gradient(losses["loss"], m2.trainable_variables)
        found.append([losses["loss"], *(tf.convert_to_tensor(g) for g in gradients)])
    for full, truncated in zip(*found, strict=True):
        np.testing.assert_allclose(truncated, full, rtol=1e-4, atol=1e-5)


def test_only_training_truncates_and_can_put_it_off(rng):
    batch = make_batch(rng)
    full = make_m2().batch_losses(batch, SEED, training=True)["unlabelled_loss"]
    m2 = make_m2(top_classes=1)
    assert abs(m2.batch_losses(batch, SEED, training=True)["unlabelled_loss"] - full) > 1e-3
    np.testing.assert_allclose(
        m2.batch_losses(batch, SEED, training=False)["unlabelled_loss"],
        make_m2().batch_losses(batch, SEED, training=False)["unlabelled_loss"],
        rtol=1e-6,
    )
    m2.enumeration = m2.enumeration.full
    np.testing.assert_allclose(
        m2.batch_losses(batch, SEED, training=True)["unlabelled_loss"], full, rtol=1e-6
    )


@pytest.mark.parametrize("top_classes", [0, K + 1])
def test_impossible_top_classes_are_refused(top_classes):
    with pytest.raises(InputError, match="between 1 and"):
        make_m2(top_classes=top_classes)


@keras.saving.register_keras_serializable("tests")
class LastClass(Enumeration):
    """Somebody else's part: q(y|x) is kept to the last class."""

    def unlabelled_loss(self, model, x, epsilon, logits):  # noqa: ARG002
        return loss_per_class(model, x, epsilon)[:, -1]


def test_another_part_can_be_given_and_is_saved_with_the_model(tmp_path, rng):
    m2, batch = make_m2(enumeration=LastClass()), make_batch(rng)
    m2.save(tmp_path / "m2.keras")
    again = keras.saving.load_model(tmp_path / "m2.keras")
    x, epsilon = m2.draw(batch["unlabelled"], tf.constant([1, 2]))
    expected = np.mean(loss_per_class(m2, x, epsilon)[:, -1])
    for model in (m2, again):
        losses = model.unlabelled_losses((x, epsilon), training=True)
        np.testing.assert_allclose(losses["unlabelled_loss"], expected, rtol=1e-6)


@pytest.mark.parametrize("posterior_scale", ["x", "xy"])
@pytest.mark.parametrize("top_classes", [None, 2])
def test_a_saved_model_has_the_same_losses(top_classes, posterior_scale, tmp_path, rng):
    m2 = make_m2(top_classes=top_classes, posterior_scale=posterior_scale)
    m2.set_weights([w + 0.01 for w in m2.get_weights()])
    m2.save(tmp_path / "m2.keras")
    again = keras.saving.load_model(tmp_path / "m2.keras")
    assert again.enumeration == m2.enumeration
    batch = make_batch(rng)
    losses, same = (m.batch_losses(batch, SEED, training=True) for m in (m2, again))
    for name, value in losses.items():
        np.testing.assert_array_equal(same[name], value, err_msg=name)


def test_a_file_that_says_top_classes_still_loads():
    """As models were written before the enumeration was a part."""
    config = make_m2(top_classes=2).get_config()
    del config["enumeration"]
    assert M2.from_config({**config, "top_classes": 2}).enumeration == LikeliestClasses(2)
    assert M2.from_config({**config, "top_classes": None}).enumeration == AllClasses()


def test_two_answers_to_one_question_are_refused():
    with pytest.raises(InputError, match="give one of the two"):
        make_m2(top_classes=2, enumeration=AllClasses())


def test_truncation_begins_at_its_epoch_and_stays_with_the_model(rng):
    m2, batch = make_m2(top_classes=1), make_batch(rng)
    used = []
    watch = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: used.append(m2.enumeration))
    m2.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
    later = TruncateLater(0.5, m2.enumeration)
    data = tf.data.Dataset.from_tensors(batch)
    history = m2.fit(data, epochs=5, callbacks=[later, watch], verbose=0, shuffle=False).history
    assert used == [AllClasses()] * 3 + [LikeliestClasses(1)] * 2
    steps = zip(used, history["unlabelled_loss"], strict=True)
    for step, (enumeration, loss) in enumerate(steps):
        m2.enumeration = enumeration
        expected = m2.batch_losses(batch, m2._step_seed(step), training=True)["unlabelled_loss"]
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
    early = TruncateLater(1.0, LikeliestClasses(1))
    m2.fit(data, epochs=1, callbacks=[early], verbose=0, shuffle=False)
    assert m2.enumeration == LikeliestClasses(1)
