"""Importance-weighted estimates against closed forms and numerical integrals."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import special, stats

from tfssl.data.preprocessing import Preprocessing
from tfssl.errors import InputError
from tfssl.models import M1, M2, LatentM2, StackedM1M2, importance, noise
from tfssl.models.networks import MLP
from tfssl.runs.evaluation import likelihood_metrics

# A linear-Gaussian model, z ~ N(0, I) and x|y,z ~ N(W z + b + C y, s^2 I). W's columns are
# orthogonal, so that the posterior of z is diagonal, as q is.
W = np.array([[1.0, 0.4], [0.8, -0.5], [0.0, 0.7]])
W[2, 0] = -(W[:2, 0] @ W[:2, 1]) / W[2, 1]
B = np.array([0.3, -0.2, 0.1])
C = np.array([[1.5, 0.0, -1.0], [0.0, 0.0, 0.0]])
S = 0.6
PRIOR = [0.3, 0.7]
SEED = tf.constant([3, 4])
POSTERIOR_VARIANCE = 1 / (1 + (W**2).sum(axis=0) / S**2)


def raw_scale(scale):
    """What DiagonalGaussian turns into this scale."""
    return np.log(np.expm1(np.asarray(scale) - 1e-3))


def set_linear(network, kernel, bias, condition=None):
    network.linears[0].kernel.assign(kernel)
    network.linears[0].bias.assign(bias)
    if condition is not None:
        network.condition_linear.kernel.assign(condition)


def set_identity(layer, scale):
    """N(features, scale^2)."""
    dim = layer.dim
    layer.linear.kernel.assign(np.hstack([np.eye(dim), np.zeros((dim, dim))]))
    layer.linear.bias.assign(np.concatenate([np.zeros(dim), raw_scale(scale) * np.ones(dim)]))


def linear_gaussian(shift=0.0, stretch=1.0, classes=True):
    """The model above; q is the posterior of z, shifted and stretched."""
    condition_dim = len(C) if classes else 0
    if classes:
        model = M2(3, 2, 5, 5, 2, (1,), likelihood="gaussian", class_prior=PRIOR)
    else:
        model = M1(3, 2, (1,), likelihood="gaussian")
    model.encoder = MLP(3, (2,), condition_dim, activation="linear")
    model.decoder = MLP(2, (3,), condition_dim, activation="linear")
    model.posterior = type(model.posterior)(2, 2)
    model.output_layer = type(model.output_layer)(3, 3)
    to_mean = W / S**2 * POSTERIOR_VARIANCE
    set_linear(model.encoder, to_mean, shift - B @ to_mean, -C @ to_mean if classes else None)
    set_linear(model.decoder, W.T, B, C if classes else None)
    set_identity(model.posterior, stretch * np.sqrt(POSTERIOR_VARIANCE))
    set_identity(model.output_layer, S)
    return model


def exact_log_joint(x, classes=True):
    """log pi_y N(x; b + C y, W W^T + s^2 I), [N, K]; log p(x), [N, 1], without classes."""
    covariance = W @ W.T + S**2 * np.eye(3)
    shifts, prior = (C, PRIOR) if classes else (np.zeros((1, 3)), [1.0])
    columns = [
        np.log(p) + stats.multivariate_normal(B + shift, covariance).logpdf(x)
        for p, shift in zip(prior, shifts, strict=True)
    ]
    return np.stack(columns, axis=1)


def copied_means(model, x, num_samples, copies):
    """`weight_means` of copies of every point, which have noise of their own: [N, copies, K]."""
    means = importance.weight_means(model, np.repeat(x, copies, axis=0), num_samples)
    return [values.reshape(len(x), copies, -1) for values in means]


def assert_unbiased(model, x, log_joint, num_samples=4, copies=4000):
    """The mean of p^(x, y) / p(x, y) is 1: within 5 standard errors, and these within 3%."""
    estimates, _ = copied_means(model, x, num_samples, copies)
    ratios = np.exp(estimates - log_joint[:, np.newaxis])
    error = stats.sem(ratios, axis=1)
    assert error.max() < 0.03
    assert np.all(np.abs(ratios.mean(axis=1) - 1) < 5 * error)


@pytest.fixture
def x(rng):
    return rng.normal(size=(11, 3)).astype(np.float32)


@pytest.mark.parametrize("classes", [False, True])
def test_one_sample_is_exact_when_q_is_the_posterior(classes, x):
    model = linear_gaussian(classes=classes)
    means = importance.weight_means(model, x, 1)
    exact = exact_log_joint(x, classes)
    np.testing.assert_allclose(means.log_joint, exact, rtol=1e-5)
    np.testing.assert_allclose(means.bound, exact, rtol=1e-5)
    np.testing.assert_allclose(
        importance.log_likelihood(model, x, 1), special.logsumexp(exact, axis=1), rtol=1e-5
    )


@pytest.mark.parametrize("classes", [False, True])
def test_the_mean_weight_of_a_wrong_q_is_the_closed_form(classes, x):
    model = linear_gaussian(shift=0.2, stretch=1.5, classes=classes)
    assert_unbiased(model, x, exact_log_joint(x, classes))


def test_the_bound_is_the_closed_form_less_the_divergence_of_q(x):
    """E_q[log w] = log p(x) - KL[q(z|x) || p(z|x)], two Gaussians apart by shift and stretch."""
    shift, stretch = 0.2, 1.5
    model = linear_gaussian(shift, stretch, classes=False)
    terms = stretch**2 - 1 - 2 * np.log(stretch) + shift**2 / POSTERIOR_VARIANCE
    expected = exact_log_joint(x, classes=False) - 0.5 * terms.sum()
    _, bounds = copied_means(model, x, num_samples=4, copies=4000)
    np.testing.assert_array_less(
        np.abs(bounds.mean(axis=1) - expected), 5 * stats.sem(bounds, axis=1)
    )
    assert stats.sem(bounds, axis=1).max() < 0.05 < 0.5 * terms.sum()


def test_the_estimate_is_never_below_the_bound_and_grows_with_the_samples(x):
    """Jensen's inequality point by point; in expectation, here over 400 copies of a point."""
    model = linear_gaussian(shift=0.3, stretch=1.5)
    exact = exact_log_joint(x)[0]
    last = np.full(2, -np.inf)
    for num_samples in (1, 3, 10, 100):
        (estimates,), (bounds,) = copied_means(model, x[:1], num_samples, copies=400)
        assert np.all(estimates >= bounds - 1e-9)
        average, error = estimates.mean(axis=0), stats.sem(estimates)
        assert np.all(average > last + 2 * error)
        assert np.all(average < exact + 4 * error)
        last = average
    np.testing.assert_allclose(last, exact, atol=0.02)


def test_bayes_rule_gives_the_posterior_of_the_class(x):
    exact = special.softmax(exact_log_joint(x), axis=1)
    got = importance.bayes_probabilities(linear_gaussian(), x, 1)
    np.testing.assert_allclose(got, exact, atol=1e-4)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)
    with pytest.raises(InputError, match="needs M2 or M1"):
        importance.bayes_probabilities(linear_gaussian(classes=False), x, 1)


def set_scale(linear, dim, scale):
    """Give a Gaussian layer, whose last `dim` outputs are raw scales, one scale everywhere.

    A q that is too narrow anywhere has weights of infinite variance.
    """
    kernel, bias = linear.kernel.numpy(), linear.bias.numpy()
    kernel[:, -dim:] = 0.0
    bias[-dim:] = raw_scale(scale)
    linear.kernel.assign(kernel)
    linear.bias.assign(bias)


def multiply(part, factor):
    """Make an output depend more, or less, on its input than it does at the start."""
    for weight in part.trainable_variables:
        weight.assign(factor * weight)


GRID = np.linspace(-6, 6, 121, dtype=np.float32)
LOG_STEP = np.log(GRID[1] - GRID[0])


@pytest.mark.parametrize("posterior_scale", ["x", "xy"])
def test_m2_against_an_integral_over_z(posterior_scale, rng):
    """A Bernoulli M2 with 3 classes and one latent dimension."""
    prior = [0.2, 0.5, 0.3]
    model = M2(5, 3, 9, 9, 1, (7, 6), class_prior=prior, posterior_scale=posterior_scale, seed=1)
    multiply(model.decoder, 2.0)
    if posterior_scale == "xy":
        multiply(model.posterior, 0.3)
        set_scale(model.posterior.linear, 1, 1.2)
    else:
        multiply(model.posterior, 0.3)
        set_scale(model.posterior.scale_linear, 1, 1.2)
    x = rng.integers(0, 2, size=(4, 5)).astype(np.float32)
    exact = np.empty((4, 3))
    for k in range(3):
        p_x = model.decode(tf.one_hot([k], 3), GRID[:, np.newaxis])
        log_p = stats.norm.logpdf(GRID) + p_x.log_prob(x[:, np.newaxis]).numpy()
        exact[:, k] = np.log(prior[k]) + special.logsumexp(log_p, axis=1) + LOG_STEP
    assert np.ptp(exact - np.log(prior)) > 0.5  # the classes and points differ
    assert_unbiased(model, x, exact)


def test_the_stack_against_an_integral_over_z1_and_z2(rng):
    """One active and one inactive dimension of z1, one dimension of z2."""
    m1 = M1(5, 2, (6,), seed=1)
    m2 = LatentM2(1, 3, 9, 9, 1, (7,), likelihood="gaussian", class_prior=[0.2, 0.5, 0.3], seed=2)
    stack = StackedM1M2(m1, m2, [1])
    multiply(m1.decoder, 2.0)
    for layer in (m1.posterior, m2.posterior):
        multiply(layer, 0.3)
    set_scale(m1.posterior.linear, 2, 2.0)
    set_scale(m2.posterior.linear, 1, 1.5)
    set_scale(m2.output_layer.linear, 1, 0.7)
    x = rng.integers(0, 2, size=(4, 5)).astype(np.float32)

    # p(z1|y): the integral over z2. [K, active].
    z2 = GRID[:, np.newaxis]
    log_p_z1 = np.empty((3, len(GRID)))
    for k in range(3):
        p_z1 = m2.decode(tf.one_hot([k], 3), z2)
        given_z2 = p_z1.log_prob(GRID[:, np.newaxis, np.newaxis]).numpy()
        log_p_z1[k] = special.logsumexp(given_z2 + stats.norm.logpdf(GRID), axis=1) + LOG_STEP
    # p(x, y): the integral over both dimensions of z1, [inactive, active].
    z1 = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1)
    log_p_x = m1.decode(z1).log_prob(x[:, np.newaxis, np.newaxis]).numpy()
    log_p = log_p_x[:, np.newaxis] + stats.norm.logpdf(GRID)[:, np.newaxis]
    log_p = log_p + log_p_z1[:, np.newaxis]
    exact = special.logsumexp(log_p, axis=(2, 3)) + 2 * LOG_STEP + np.log([0.2, 0.5, 0.3])

    assert np.ptp(exact - np.log([0.2, 0.5, 0.3]), axis=1).max() > 0.1  # the classes differ
    assert_unbiased(stack, x, exact)


def make(name):
    if name == "m1":
        return M1(6, 3, (8,), seed=1)
    if name == "m2":
        return M2(6, 4, 5, 5, 3, (8, 7), seed=1)
    if name == "columns":
        return M2(6, 4, 5, 5, 3, (8, 7), "columns", binary_columns=(0, 3), seed=1)
    m2 = LatentM2(2, 4, 5, 5, 2, (8,), likelihood="gaussian", seed=1)
    return StackedM1M2(M1(6, 3, (8,), seed=1), m2, [0, 2])


@pytest.mark.parametrize("name", ["m1", "m2", "stack"])
def test_batches_and_calls_change_nothing(name, rng, monkeypatch):
    """The same noise for a point and a sample however they are grouped; another for any other."""
    model, x = make(name), np.repeat(rng.random((1, 6)), 11, axis=0)
    whole = importance.weight_means(model, x, 30)
    assert whole.log_joint.shape == (11, 1 if name == "m1" else 4)
    assert len(np.unique(whole.log_joint[:, 0])) == 11
    for batch_size, samples_per_call in ((1, 25), (4, 7), (11, 30)):
        monkeypatch.setattr(importance, "SAMPLES_PER_CALL", samples_per_call)
        parts = importance.weight_means(model, x, 30, batch_size=batch_size)
        np.testing.assert_allclose(parts.log_joint, whole.log_joint, rtol=1e-5)
        np.testing.assert_allclose(parts.bound, whole.bound, rtol=1e-5)
    other = importance.weight_means(model, x, 30, seed=1)
    assert np.all(np.abs(other.log_joint - whole.log_joint) > 1e-6)


def test_no_more_noise_is_drawn_than_is_used(rng, monkeypatch):
    """Twice the points take twice the random numbers, and not four times: counted as they run."""
    drawn = []
    draw = tf.random.stateless_normal

    def counting(shape, *args, **kwargs):
        drawn.append(int(np.prod(shape)))
        return draw(shape, *args, **kwargs)

    model, counts = make("m1"), []
    monkeypatch.setattr(tf.random, "stateless_normal", counting)
    tf.config.run_functions_eagerly(True)
    try:
        for points in (1000, 2000):
            drawn.clear()
            importance.weight_means(model, rng.random((points, 6)), 2, batch_size=500)
            counts.append(sum(drawn))
    finally:
        tf.config.run_functions_eagerly(False)
    used = [points * 2 * model.noise_dim for points in (1000, 2000)]
    assert counts[1] < 2.2 * counts[0]
    assert all(wanted <= count < 2 * wanted for count, wanted in zip(counts, used, strict=True))


def test_the_noise_of_a_row_does_not_depend_on_the_rows_before_it():
    table = noise.normal_rows(0, 1000, 3, SEED).numpy()
    assert len(np.unique(table)) == 3000
    assert stats.kstest(table.ravel(), "norm").pvalue > 0.01
    for first, rows in ((0, 1), (1, 999), (127, 2), (128, 128), (500, 300), (999, 1)):
        part = noise.normal_rows(tf.constant(first), rows, 3, SEED)
        np.testing.assert_array_equal(part, table[first : first + rows])


@pytest.mark.parametrize("name", ["m1", "m2", "columns", "stack"])
def test_the_log_weights_are_the_densities_at_the_sample(name, rng):
    """log p(x, y, z) - log q(z|x,y) class by class, from the models' distributions."""
    model = make(name)
    x = tf.constant(rng.integers(0, 2, size=(5, 6)), tf.float32)
    epsilon = tf.constant(rng.normal(size=(5, model.noise_dim)), tf.float32)
    got = model.log_weights(x, model.proposal(x), epsilon)
    normal = lambda z: stats.norm.logpdf(z).sum(axis=-1)  # noqa: E731
    if name == "m1":
        q_z = model.encode(x)
        z = q_z.distribution.loc + q_z.distribution.scale * epsilon
        expected = normal(z) + model.decode(z).log_prob(x) - q_z.log_prob(z)
        np.testing.assert_allclose(got, expected, rtol=1e-5)
        return
    for k in range(4):
        y = tf.one_hot([k] * 5, 4)
        if name != "stack":
            q_z = model.encode(x, y)
            z = q_z.distribution.loc + q_z.distribution.scale * epsilon
            expected = normal(z) + model.decode(y, z).log_prob(x) - q_z.log_prob(z)
        else:
            q_z1 = model.m1.encode(x)
            z1 = q_z1.distribution.loc + q_z1.distribution.scale * epsilon[:, :3]
            active = tf.gather(z1, [0, 2], axis=1)
            q_z2 = model.m2.encode(active, y)
            z2 = q_z2.distribution.loc + q_z2.distribution.scale * epsilon[:, 3:]
            expected = (
                normal(z2)
                + model.m2.decode(y, z2).log_prob(active)
                + normal(z1[:, 1:2])
                + model.m1.decode(z1).log_prob(x)
                - q_z1.log_prob(z1)
                - q_z2.log_prob(z2)
            )
        np.testing.assert_allclose(got[:, k], expected + np.log(1 / 4), rtol=1e-5)


@pytest.mark.parametrize("name", ["m1", "m2", "stack"])
def test_a_likelihood_is_that_of_a_binary_image(name, rng):
    model, x = make(name), rng.random((50, 6)).astype(np.float32)
    observed = importance.observed(model, x, seed=3).numpy()
    assert set(np.unique(observed)) == {0.0, 1.0}
    np.testing.assert_array_equal(importance.observed(model, observed, seed=4), observed)
    scored = importance.log_likelihood(model, x, 5, seed=3)
    again = importance.log_likelihood(model, observed, 5, seed=3, observe=False)
    np.testing.assert_allclose(scored, again, rtol=1e-6)
    as_given = importance.log_likelihood(model, x, 5, seed=3, observe=False)
    assert np.all(np.abs(scored - as_given) > 1e-4)


@pytest.mark.parametrize("classes", [False, True])
def test_the_marginal_bound_is_minus_u(classes, x, rng):
    model = linear_gaussian(classes=classes)
    bound = rng.normal(size=(11, 2 if classes else 1))
    got = importance.marginal_bound(model, x, bound)
    if not classes:
        np.testing.assert_allclose(got, bound[:, 0])
        return
    q = model(x).numpy().astype(np.float64)
    np.testing.assert_allclose(got, (q * (bound - np.log(q))).sum(axis=1), rtol=1e-5)


def test_the_metrics_of_exact_models(rng):
    """q(z|x,y) is exact, so are log p(x) and Bayes' rule; q(y|x) is not, so the bound is lower."""
    x = rng.normal(size=(60, 3)).astype(np.float32)
    label = rng.integers(0, 2, size=60)
    preprocessing = Preprocessing((3,), np.zeros(3, np.float32), np.ones(3), None, "gaussian")
    log_joint = exact_log_joint(x)
    log_p_x = special.logsumexp(log_joint, axis=1)
    metrics = likelihood_metrics(linear_gaussian(), preprocessing, x, label, 1)
    np.testing.assert_allclose(metrics["log_likelihood"], log_p_x.mean(), rtol=1e-5)
    np.testing.assert_allclose(
        metrics["log_likelihood_error"], log_p_x.std(ddof=1) / np.sqrt(60), rtol=1e-4
    )
    assert metrics["bound"] < metrics["log_likelihood"] - 1e-3
    assert metrics["bayes"]["error"] == np.mean(log_joint.argmax(axis=1) != label)
    q_y = linear_gaussian()(x).numpy()
    assert metrics["recognition"]["error"] == np.mean(q_y.argmax(axis=1) != label)

    without = linear_gaussian(classes=False)
    metrics = likelihood_metrics(without, preprocessing, x, label, 1)
    log_p_x = exact_log_joint(x, classes=False)[:, 0]
    np.testing.assert_allclose(metrics["log_likelihood"], log_p_x.mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["bound"], log_p_x.mean(), rtol=1e-5)
    assert "bayes" not in metrics


def test_bayes_rule_sees_the_intensities(rng):
    model, x = make("m2"), rng.random((20, 6)).astype(np.float32)
    label = rng.integers(0, 4, size=20)
    preprocessing = Preprocessing((6,), np.zeros(6, np.float32), np.ones(6), None, "bernoulli")
    metrics = likelihood_metrics(model, preprocessing, x, label, 9, seed=2)
    as_given = importance.bayes_probabilities(model, x, 9, seed=2)
    drawn = importance.bayes_probabilities(model, importance.observed(model, x, 2), 9, seed=2)
    log_loss = [-np.log(p[np.arange(20), label]).mean() for p in (as_given, drawn)]
    np.testing.assert_allclose(metrics["bayes"]["log_loss"], log_loss[0], rtol=1e-6)
    assert abs(log_loss[0] - log_loss[1]) > 1e-4


def test_bad_input_is_refused(x):
    model = linear_gaussian()
    with pytest.raises(InputError, match=r"`num_samples` must be at least 1.*num_samples=0"):
        importance.log_likelihood(model, x, 0)
    with pytest.raises(InputError, match="at least one point"):
        importance.log_likelihood(model, x[:0], 1)
