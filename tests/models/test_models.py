"""M1, M2 and the stack: enumeration, labels, gradients, joint densities, saving, metrics."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tfssl.data import batches
from tfssl.errors import InputError
from tfssl.models import M1, M2, LatentM2, StackedM1M2, active_dimensions, noise, objectives
from tfssl.models.enumeration import loss_per_class

D, K, Z, H = 6, 3, 4, 8
SEED = tf.constant([3, 4])


def make_m2(likelihood="gaussian", **kwargs):
    sizes = {"num_labelled": 10, "num_unlabelled": 90, "latent_dim": Z, "hidden_units": (H,)}
    return M2(D, K, likelihood=likelihood, **{**sizes, **kwargs})


def make_stack(active=(0, 2, 3), **kwargs):
    m1 = M1(D, Z, (H,), likelihood="gaussian", seed=1, **kwargs)
    m2 = LatentM2(len(active), K, 10, 90, 2, (H,), likelihood="gaussian", seed=1, **kwargs)
    return StackedM1M2(m1, m2, list(active))


def make_batch(rng, binary=False, labelled=5, unlabelled=7):
    x = rng.normal(size=(labelled + unlabelled, D)).astype(np.float32)
    x = (x > 0).astype(np.float32) if binary else x
    y = np.eye(K, dtype=np.float32)[rng.integers(0, K, labelled)]
    return {
        "labelled": (tf.constant(x[:labelled]), tf.constant(y)),
        "unlabelled": tf.constant(x[labelled:]),
    }


def test_m2_loss_is_the_papers_objective_put_together_by_hand(rng):
    """J^alpha / N from numpy's means of L, U and -log q, on the same noise as the step draws."""
    m2 = make_m2(classification_weight=0.25, class_prior=[0.5, 0.3, 0.2])
    batch = make_batch(rng)
    losses = m2.batch_losses(batch, SEED, training=True)

    (x, y), x_u = batch["labelled"], batch["unlabelled"]
    y = y.numpy()
    _, eps_l = m2.draw(x, noise.fold(SEED, 0))
    _, eps_u = m2.draw(x_u, noise.fold(SEED, 1))

    def per_class(x, eps, k):
        y = tf.one_hot([k] * len(x), K)
        q_z = m2.encode(x, y)
        log_p_x = m2.decode(y, q_z.distribution.loc + q_z.distribution.scale * eps).log_prob(x)
        return -(log_p_x + np.log([0.5, 0.3, 0.2][k]) - objectives.gaussian_kl(q_z)).numpy()

    all_l = np.stack([per_class(x, eps_l, k) for k in range(K)], axis=1)
    all_u = np.stack([per_class(x_u, eps_u, k) for k in range(K)], axis=1)
    labelled = (all_l * y).sum(axis=1).mean()
    log_q = special.log_softmax(m2.label_logits(x_u).numpy(), axis=1)
    unlabelled = (np.exp(log_q) * (all_u + log_q)).sum(axis=1).mean()
    log_q_l = special.log_softmax(m2.label_logits(x).numpy(), axis=1)
    classification = -(log_q_l * y).sum(axis=1).mean()
    squares = sum((w.numpy() ** 2).sum() for w in m2.trainable_variables)
    expected = 0.1 * labelled + 0.9 * unlabelled + 0.25 * classification + squares / 2 / 100

    np.testing.assert_allclose(losses["labelled_loss"], labelled, rtol=1e-4)
    np.testing.assert_allclose(losses["unlabelled_loss"], unlabelled, rtol=1e-4)
    np.testing.assert_allclose(losses["classification_loss"], classification, rtol=1e-4)
    np.testing.assert_allclose(losses["loss"], expected, rtol=1e-4)
    error = np.mean(log_q_l.argmax(axis=1) != np.argmax(y, axis=1))
    np.testing.assert_allclose(losses["error"], error, rtol=1e-6)


def test_a_labelled_share_weighs_the_two_bounds_and_their_gradients(rng):
    batch = make_batch(rng)

    def gradients(share):
        m2 = make_m2(labelled_share=share, classification_weight=0.0)
        with tf.GradientTape() as tape:
            losses = m2.batch_losses(batch, SEED, training=True)
            loss = losses["loss"] - losses["weight_prior"]
        return losses, loss, tape.gradient(loss, m2.decoder.trainable_variables)

    paper, loss, _ = gradients(None)
    expected = 0.1 * paper["labelled_loss"] + 0.9 * paper["unlabelled_loss"]
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    _, loss, half = gradients(0.5)
    expected = 0.5 * (paper["labelled_loss"] + paper["unlabelled_loss"])
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    _, loss, small = gradients(0.25)
    alone, loss, ones = gradients(1.0)
    np.testing.assert_allclose(loss, paper["labelled_loss"], rtol=1e-5)
    assert "unlabelled_loss" not in alone
    # Linear in the share: 1/4 = 1.5 x 1/2 - 0.5 x 1.
    for quarter, halved, one in zip(small, half, ones, strict=True):
        np.testing.assert_allclose(quarter, 1.5 * halved - 0.5 * one, rtol=1e-3, atol=1e-5)


def test_labels_matter_to_the_labelled_terms_and_to_nothing_else(rng):
    m2 = make_m2()
    batch = make_batch(rng)
    x, y = batch["labelled"]
    swapped = {**batch, "labelled": (x, tf.roll(y, 1, axis=1))}
    before = m2.batch_losses(batch, SEED, training=True)
    after = m2.batch_losses(swapped, SEED, training=True)
    for name in ("labelled_loss", "classification_loss", "loss"):
        assert abs(before[name] - after[name]) > 1e-4, name
    for name in ("unlabelled_loss", "label_entropy"):
        np.testing.assert_array_equal(before[name], after[name])


def test_m1_loss_by_hand(rng):
    m1 = M1(D, Z, (H,), likelihood="gaussian", seed=1)
    x = make_batch(rng)["unlabelled"]
    losses = m1.batch_losses({"unlabelled": x}, SEED, training=True)
    q_z = m1.encode(x).distribution
    z = q_z.loc + q_z.scale * noise.normal([7, Z], noise.fold(SEED, 1))
    kl = 0.5 * np.sum(q_z.loc**2 + q_z.scale**2 - 1 - 2 * np.log(q_z.scale), axis=1)
    expected = np.mean(kl - m1.decode(z).log_prob(x))
    np.testing.assert_allclose(losses["loss"], expected, rtol=1e-5)
    np.testing.assert_allclose(losses["reconstruction"] + losses["kl_z"], expected, rtol=1e-5)


def test_bernoulli_images_are_drawn_afresh_at_every_step():
    m1 = M1(1000, Z, (H,), likelihood="bernoulli")
    x = tf.fill([1, 1000], 0.3)
    first, again, other = (m1.observe(x, seed) for seed in (SEED, SEED, SEED + 1))
    assert set(np.unique(first)) == {0.0, 1.0}
    np.testing.assert_array_equal(first, again)
    assert np.mean(first != other) > 0.2
    np.testing.assert_allclose(np.mean(first), 0.3, atol=0.05)
    binary = tf.round(tf.random.stateless_uniform([2, 1000], [0, 1]))
    np.testing.assert_array_equal(m1.observe(binary, SEED), binary)


@pytest.mark.parametrize("posterior_scale", ["x", "xy"])
def test_every_variable_of_m2_gets_a_gradient(posterior_scale, rng):
    m2 = make_m2(posterior_scale=posterior_scale)
    with tf.GradientTape() as tape:
        loss = m2.batch_losses(make_batch(rng), SEED, training=True)["loss"]
    gradients = tape.gradient(loss, m2.trainable_variables)
    for variable, gradient in zip(m2.trainable_variables, gradients, strict=True):
        assert np.abs(gradient).max() > 0, variable.path


def test_the_stack_trains_m2_and_leaves_m1_frozen(rng):
    stack = make_stack()
    before = [w.copy() for w in stack.m1.get_weights()]
    m2_before = [w.copy() for w in stack.m2.get_weights()]
    stack.compile(optimizer=keras.optimizers.Adam(0.01), jit_compile=False)
    batch = make_batch(rng)
    stack.fit(tf.data.Dataset.from_tensors(batch), verbose=0, shuffle=False)
    for old, new in zip(before, stack.m1.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    changed = [np.abs(o - n).max() for o, n in zip(m2_before, stack.m2.get_weights(), strict=True)]
    assert min(changed) > 1e-3


def test_the_stack_on_pixels_equals_m2_on_features(rng):
    stack = make_stack()
    batch = make_batch(rng)
    on_features = {
        "labelled": (stack.features(batch["labelled"][0]), batch["labelled"][1]),
        "unlabelled": stack.features(batch["unlabelled"]),
    }
    direct = stack.batch_losses(batch, SEED, training=True)
    cached = stack.m2.batch_losses(on_features, SEED, training=True)
    for name, value in direct.items():
        np.testing.assert_allclose(value, cached[name], rtol=1e-6, err_msg=name)


def test_the_stack_resamples_z1_in_training_and_uses_its_mean_in_prediction(rng):
    stack = make_stack()
    x = make_batch(rng)["unlabelled"]
    features = stack.features(x)
    q_z1 = stack.m1.encode(x).distribution
    drawn, other = (stack.m2.observe(features, seed) for seed in (SEED, SEED + 1))
    assert np.abs(drawn - other).max() > 0.1
    samples = np.stack([stack.m2.observe(features, SEED + i) for i in range(2000)])
    active = np.take(q_z1.loc, stack.active, axis=1), np.take(q_z1.scale, stack.active, axis=1)
    np.testing.assert_allclose(samples.mean(axis=0), active[0], atol=0.1)
    np.testing.assert_allclose(samples.std(axis=0), active[1], rtol=0.1)
    expected = tf.nn.softmax(stack.m2.label_logits(active[0]))
    np.testing.assert_allclose(stack(x), expected, rtol=1e-5)
    np.testing.assert_allclose(stack.classify(x).probs_parameter(), expected, rtol=1e-5)


def test_wider_draws_of_z1_have_the_same_noise_times_a_factor(rng):
    x = tf.constant(rng.uniform(size=(7, 2 * D)), tf.float32)
    plain, wide = (LatentM2(D, K, 10, 90, noise_scale=factor) for factor in (1.0, 3.0))
    deviations = [m2.observe(x, SEED) - m2.expected(x) for m2 in (plain, wide)]
    np.testing.assert_allclose(deviations[1], 3 * deviations[0], rtol=1e-4, atol=1e-6)
    again = LatentM2.from_config(wide.get_config())
    np.testing.assert_array_equal(again.observe(x, SEED), wide.observe(x, SEED))


def test_stack_joint_density_is_the_product_of_its_factors(rng):
    stack = make_stack(active=(0, 2, 3))
    x, z1 = rng.normal(size=(5, D)).astype("f"), rng.normal(size=(5, Z)).astype("f")
    z2, y = rng.normal(size=(5, 2)).astype("f"), np.eye(K, dtype="f")[[0, 1, 2, 0, 1]]
    expected = (
        np.log(1 / K)
        + stack.prior_z2.log_prob(z2)
        + stack.m2.decode(y, z2).log_prob(z1[:, [0, 2, 3]])
        + -0.5 * (z1[:, 1] ** 2 + np.log(2 * np.pi))
        + stack.m1.decode(z1).log_prob(x)
    )
    np.testing.assert_allclose(stack.joint_log_prob(x, y, z1, z2), expected, rtol=1e-5)


def test_stack_samples_and_generates_pixels():
    stack = make_stack()
    x, y, z1, z2 = stack.sample(50, SEED)
    assert x.shape == (50, D)
    assert z1.shape == (50, Z)
    np.testing.assert_array_equal(tf.reduce_sum(y, axis=1), 1.0)
    assert np.all(np.isfinite(stack.joint_log_prob(x, y, z1, z2)))
    pixels = stack.generate(y, z2)
    full = np.zeros((50, Z), np.float32)
    full[:, [0, 2, 3]] = stack.m2.generate(y, z2)
    np.testing.assert_allclose(pixels, stack.m1.generate(full), rtol=1e-5)


def test_m1_and_m2_joint_densities(rng):
    m1, m2 = M1(D, Z, (H,), likelihood="gaussian"), make_m2()
    x, z = rng.normal(size=(5, D)).astype("f"), rng.normal(size=(5, Z)).astype("f")
    y = np.eye(K, dtype="f")[[0, 1, 2, 0, 1]]
    log_p_z = -0.5 * (z**2 + np.log(2 * np.pi)).sum(axis=1)
    np.testing.assert_allclose(
        m1.joint_log_prob(x, z), log_p_z + m1.decode(z).log_prob(x), rtol=1e-5
    )
    expected = log_p_z + np.log(1 / K) + m2.decode(y, z).log_prob(x)
    np.testing.assert_allclose(m2.joint_log_prob(x, y, z), expected, rtol=1e-5)


def test_m2_latents_average_over_the_classes(rng):
    m2 = make_m2()
    x = make_batch(rng)["unlabelled"]
    q = m2(x).numpy()
    expected = sum(q[:, [k]] * m2.styles(x, tf.one_hot([k] * 7, K)) for k in range(K))
    np.testing.assert_allclose(m2.latents(x), expected, rtol=1e-4, atol=1e-6)


def test_active_dimensions_are_those_whose_mean_varies(rng):
    means = rng.normal(size=(1000, 4)) * [1.0, 0.05, 0.5, 0.0]
    assert active_dimensions(means) == [0, 2]
    assert active_dimensions(means, threshold=0.01) == [0, 1, 2]
    with pytest.raises(InputError, match="must use at least one latent dimension"):
        active_dimensions(means * 0.01)


def test_class_prior_shifts_the_bound(rng):
    x, y = make_batch(rng)["labelled"]
    epsilon = tf.zeros([5, Z])
    uniform = make_m2().loss_terms(x, y, epsilon)[0]
    skewed = make_m2(class_prior=[0.7, 0.2, 0.1]).loss_terms(x, y, epsilon)[0]
    shift = np.log([0.7, 0.2, 0.1])[np.argmax(y, axis=1)] - np.log(1 / K)
    np.testing.assert_allclose(uniform - skewed, shift, atol=1e-4)


@pytest.mark.parametrize("num_classes", [2, 40])
def test_any_number_of_classes(num_classes, rng):
    m2 = M2(D, num_classes, 10, 90, Z, (H,), likelihood="gaussian")
    x = rng.normal(size=(4, D)).astype(np.float32)
    np.testing.assert_allclose(np.sum(m2.predict(x, verbose=0), axis=1), 1.0, rtol=1e-5)
    assert loss_per_class(m2, tf.constant(x), tf.zeros([4, Z])).shape == (4, num_classes)


def test_saved_models_predict_the_same_bits_in_a_new_process(tmp_path, rng):
    models = {"m1": M1(D, Z, (H,)), "m2": make_m2(), "stack": make_stack()}
    x = rng.uniform(size=(11, D)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for name, model in models.items():
        model.save(tmp_path / f"{name}.keras")
    script = """
import keras, numpy as np, tfssl.models
for name in ("m1", "m2", "stack"):
    model = keras.saving.load_model(name + ".keras")
    np.save(name + ".npy", model.predict(np.load("x.npy"), verbose=0))
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    for name, model in models.items():
        predicted = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_array_equal(predicted, model.predict(x, verbose=0), err_msg=name)


def test_reported_numbers_are_the_true_means(rng):
    """Evaluation weights a remainder by its rows; training reports the mean of its steps."""
    m2 = make_m2()
    x = rng.normal(size=(11, D)).astype(np.float32)
    labels = rng.integers(0, K, 11)
    m2.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
    logs = m2.evaluate(batches.evaluation(x, labels, K, 4), verbose=0, return_dict=True)
    log_q = special.log_softmax(m2.label_logits(x).numpy(), axis=1)
    np.testing.assert_allclose(
        logs["classification_loss"], -log_q[np.arange(11), labels].mean(), rtol=1e-5
    )
    np.testing.assert_allclose(logs["error"], np.mean(log_q.argmax(1) != labels), rtol=1e-6)

    dataset = batches.semi_supervised((x[:5], labels[:5]), x[5:], K, (2, 3), seed=0)
    history = m2.fit(dataset, steps_per_epoch=4, epochs=1, verbose=0, shuffle=False).history
    seeds = [m2._step_seed(step) for step in range(4)]
    steps = [
        m2.batch_losses(batch, seed, training=True)
        for batch, seed in zip(dataset.take(4), seeds, strict=True)
    ]
    for name in ("loss", "labelled_loss", "unlabelled_loss", "error"):
        expected = np.mean([float(step[name]) for step in steps])
        np.testing.assert_allclose(history[name][0], expected, rtol=1e-5, err_msg=name)


def test_every_batch_of_an_evaluation_has_noise_of_its_own(rng):
    """The same points twice: their two bounds differ; and evaluating again gives the same mean."""
    m2, (x, y) = make_m2(), make_batch(rng, labelled=60)["labelled"]
    m2.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)

    def bound(batches):
        data = tf.data.Dataset.from_tensors({"labelled": (x, y)}).repeat(batches)
        return m2.evaluate(data, verbose=0, return_dict=True)["labelled_loss"]

    once, twice = bound(1), bound(2)
    assert abs(once - twice) > 1e-3 * once
    assert (bound(1), bound(2)) == (once, twice)
    data = tf.data.Dataset.from_tensors({"labelled": (x, y)})
    history = m2.fit(data, epochs=2, validation_data=data.repeat(2), verbose=0, shuffle=False)
    assert history.history["val_labelled_loss"] == [twice, twice]


def test_the_bound_of_many_batches_is_as_sure_as_their_number(rng):
    """Its standard error over seeds falls with the root of the number of batches."""
    x, y = make_batch(rng, labelled=2)["labelled"]
    deviations = []
    for count in (1, 16):
        bounds = []
        for seed in range(24):
            m2 = make_m2(seed=seed)
            m2.set_weights(make_m2().get_weights())
            m2.compile(run_eagerly=True)
            m2.reset_metrics()
            for _ in range(count):
                logs = m2.test_step({"labelled": (x, y)})
            bounds.append(float(logs["labelled_loss"]))
        deviations.append(np.std(bounds))
    assert deviations[1] < 0.5 * deviations[0]


def test_the_classifier_can_learn_alone(rng):
    """By -log q(y|x): one step of plain gradient descent, put together by hand."""
    m2, batch = make_m2(), {"labelled": make_batch(rng)["labelled"]}
    x, y = batch["labelled"]
    parts = (m2.classifier, m2.label_layer)
    own = [variable for part in parts for variable in part.trainable_variables]
    with tf.GradientTape() as tape:
        log_q = tf.nn.log_softmax(m2.label_logits(x))
        squares = tf.add_n([tf.reduce_sum(w**2) for w in own])
        loss = -tf.reduce_mean(tf.reduce_sum(y * log_q, axis=1)) + squares / 2 / 100
    gradients = tape.gradient(loss, own)
    expected = [w.numpy() - 0.1 * g for w, g in zip(own, gradients, strict=True)]
    others = [w for w in m2.trainable_variables if not any(w is v for v in own)]
    before = [w.numpy() for w in others]
    m2.compile(keras.optimizers.SGD(0.1), jit_compile=False, only="classifier")
    dataset = tf.data.Dataset.from_tensors(batch)
    history = m2.fit(dataset, verbose=0, shuffle=False).history
    np.testing.assert_allclose(history["loss"], [loss], rtol=1e-5)
    for weight, want in zip(own, expected, strict=True):
        np.testing.assert_allclose(weight, want, rtol=1e-4, atol=1e-6)
    for weight, want in zip(others, before, strict=True):
        np.testing.assert_array_equal(weight, want)


def test_labels_alone_train_m2(rng):
    m2 = make_m2(num_unlabelled=0)
    batch = {"labelled": make_batch(rng)["labelled"]}
    losses = m2.batch_losses(batch, SEED, training=True)
    expected = losses["labelled_loss"] + 0.1 * losses["classification_loss"]
    np.testing.assert_allclose(losses["loss"], expected + losses["weight_prior"], rtol=1e-5)
    assert "unlabelled_loss" not in losses


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_gives_nearly_the_same_losses(precision, rng):
    batch = make_batch(rng)
    exact = make_m2().batch_losses(batch, SEED, training=True)
    mixed = make_m2(dtype=precision).batch_losses(batch, SEED, training=True)
    assert mixed["loss"].dtype == tf.float32
    np.testing.assert_allclose(mixed["loss"], exact["loss"], rtol=0.02)


def test_what_is_kept_of_a_stack_is_float32_and_frozen():
    trained = make_stack(dtype="mixed_bfloat16")
    kept = trained.without_optimizer()
    assert {part.encoder.compute_dtype for part in (kept.m1, kept.m2)} == {"float32"}
    assert (kept.active, kept.m1.trainable) == (trained.active, False)
    for got, want in zip(kept.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"labelled_share": 0.0}, r"`labelled_share` must be above 0.*labelled_share=0\.0"),
        ({"labelled_share": 1.5}, "`labelled_share` must be above 0 and at most 1"),
        ({"class_prior": [0.5, 0.5]}, "`class_prior` must be 3 positive probabilities"),
        ({"class_prior": [0.5, 0.6, -0.1]}, "`class_prior` must be 3 positive probabilities"),
        ({"posterior_scale": "y"}, '`posterior_scale` must be "x" or "xy"'),
        ({"likelihood": "poisson"}, "`likelihood` must be one of"),
        ({"latent_dim": -3}, "`dim` must be a positive integer. Received: dim=-3"),
    ],
)
def test_bad_arguments_are_named(kwargs, message):
    with pytest.raises(InputError, match=message):
        make_m2(**kwargs)


def test_one_class_is_not_enough():
    with pytest.raises(InputError, match="`num_classes` must be an integer of at least 2"):
        M2(D, 1, 10, 90)
