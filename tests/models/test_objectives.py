"""Every equation against a closed form or an independent computation, values and gradients."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import integrate, special, stats

from tfssl.models import objectives
from tfssl.models.distributions import diagonal_gaussian, standard_normal

tfd = tfp.distributions


def test_reparameterise_moves_noise_to_loc_and_scale():
    q_z = diagonal_gaussian(tf.constant([[1.0, -2.0]]), tf.constant([[0.5, 3.0]]))
    z = objectives.reparameterise(q_z, tf.constant([[2.0, -1.0]]))
    np.testing.assert_allclose(z, [[2.0, -5.0]])


def test_reparameterise_gradients_are_one_and_the_noise():
    loc, scale = tf.Variable([0.3, 0.1]), tf.Variable([1.0, 2.0])
    noise = tf.constant([0.7, -1.3])
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(objectives.reparameterise(diagonal_gaussian(loc, scale), noise))
    by_loc, by_scale = tape.gradient(z, [loc, scale])
    np.testing.assert_allclose(by_loc, [1.0, 1.0])
    np.testing.assert_allclose(by_scale, noise)


def test_gaussian_kl_equals_numerical_integral():
    loc, scale = 0.7, 0.4
    q, p = stats.norm(loc, scale), stats.norm(0, 1)
    expected, _ = integrate.quad(lambda z: q.pdf(z) * (q.logpdf(z) - p.logpdf(z)), -10, 10)
    kl = objectives.gaussian_kl(diagonal_gaussian(tf.constant([loc]), tf.constant([scale])))
    np.testing.assert_allclose(kl, expected, rtol=1e-5)


def test_gaussian_kl_equals_tfp_and_is_zero_at_the_prior(rng):
    loc = rng.normal(size=(3, 4, 5)).astype(np.float32)
    scale = rng.uniform(0.1, 3, size=(3, 4, 5)).astype(np.float32)
    q_z = diagonal_gaussian(loc, scale)
    kl = objectives.gaussian_kl(q_z)
    assert kl.shape == (3, 4)
    np.testing.assert_allclose(kl, tfd.kl_divergence(q_z, standard_normal(5)), rtol=1e-5)
    np.testing.assert_allclose(objectives.gaussian_kl(standard_normal(5)), 0.0, atol=1e-6)


def test_gaussian_kl_gradients_in_closed_form():
    loc, scale = tf.Variable([0.7, -1.0]), tf.Variable([0.4, 2.0])
    with tf.GradientTape() as tape:
        kl = objectives.gaussian_kl(diagonal_gaussian(loc, scale))
    by_loc, by_scale = tape.gradient(kl, [loc, scale])
    np.testing.assert_allclose(by_loc, loc)
    np.testing.assert_allclose(by_scale, scale - 1.0 / scale, rtol=1e-6)


@pytest.mark.parametrize("x", [-1.3, 0.0, 2.1])
def test_vae_loss_is_tight_for_the_true_posterior(x):
    """z ~ N(0, 1), x|z ~ N(z, 1), q(z|x) = N(x/2, 1/2): J(x) = -log N(x; 0, 2) in expectation."""
    q_z = diagonal_gaussian(tf.constant([x / 2]), tf.constant([np.sqrt(0.5)], tf.float32))
    # Gauss-Hermite nodes make the expectation over epsilon exact.
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    z = objectives.reparameterise(q_z, tf.constant(nodes[:, np.newaxis], tf.float32))[:, 0]
    log_p_x = stats.norm(z, 1).logpdf(x)
    losses = objectives.vae_loss(log_p_x, objectives.gaussian_kl(q_z))
    expected = -stats.norm(0, np.sqrt(2)).logpdf(x)
    np.testing.assert_allclose(np.average(losses, weights=weights), expected, rtol=1e-5)


def test_vae_loss_is_larger_for_any_other_posterior():
    x = 1.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    for loc, scale in [(0.5, 0.9), (0.0, np.sqrt(0.5)), (0.9, 0.3)]:
        q_z = diagonal_gaussian(tf.constant([loc]), tf.constant([scale], tf.float32))
        z = objectives.reparameterise(q_z, tf.constant(nodes[:, np.newaxis], tf.float32))[:, 0]
        losses = objectives.vae_loss(stats.norm(z, 1).logpdf(x), objectives.gaussian_kl(q_z))
        assert np.average(losses, weights=weights) > -stats.norm(0, np.sqrt(2)).logpdf(x) + 1e-2


def test_labelled_loss_bounds_the_joint_of_a_two_class_mixture():
    """y ~ Cat(pi), z ~ N(0, 1), x|y,z ~ N(a_y + z, 1): tight at the true posterior of z."""
    pi, a, x = np.array([0.3, 0.7]), np.array([-1.0, 2.0]), 0.4
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    for y in (0, 1):
        scale = tf.constant([np.sqrt(0.5)], tf.float32)
        q_z = diagonal_gaussian(tf.constant([(x - a[y]) / 2], tf.float32), scale)
        z = objectives.reparameterise(q_z, tf.constant(nodes[:, np.newaxis], tf.float32))[:, 0]
        losses = objectives.labelled_loss(
            stats.norm(a[y] + z.numpy(), 1).logpdf(x), np.log(pi[y]), objectives.gaussian_kl(q_z)
        )
        expected = -np.log(pi[y]) - stats.norm(a[y], np.sqrt(2)).logpdf(x)
        np.testing.assert_allclose(np.average(losses, weights=weights), expected, rtol=1e-5)


def test_unlabelled_loss_is_tight_at_the_posterior_and_larger_elsewhere(rng):
    losses = rng.normal(100, 5, size=(7, 4)).astype(np.float32)
    evidence = special.logsumexp(-losses.astype(np.float64), axis=1)
    np.testing.assert_allclose(objectives.unlabelled_loss(losses, -losses), -evidence, rtol=1e-6)
    for _ in range(20):
        logits = -losses + rng.normal(0, 2, size=losses.shape).astype(np.float32)
        assert np.all(objectives.unlabelled_loss(losses, logits) >= -evidence - 1e-4)


def test_unlabelled_loss_equals_a_loop_over_classes(rng):
    losses, logits = rng.normal(size=(2, 5, 3))
    q = special.softmax(logits, axis=1)
    expected = [sum(q[i, k] * (losses[i, k] + np.log(q[i, k])) for k in range(3)) for i in range(5)]
    np.testing.assert_allclose(objectives.unlabelled_loss(losses, logits), expected, rtol=1e-6)


def test_unlabelled_loss_gradient_in_closed_form(rng):
    """dU/dlogit_k = q_k (L_k + log q_k - U), dU/dL_k = q_k."""
    losses, logits = (tf.Variable(v) for v in rng.normal(size=(2, 5, 3)))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(objectives.unlabelled_loss(losses, logits))
    by_losses, by_logits = tape.gradient(total, [losses, logits])
    q = special.softmax(logits.numpy(), axis=1)
    u = (q * (losses.numpy() + np.log(q))).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(by_losses, q, rtol=1e-6)
    np.testing.assert_allclose(by_logits, q * (losses + np.log(q) - u), rtol=1e-5, atol=1e-9)


def test_unlabelled_loss_with_saturated_logits_is_the_loss_of_that_class():
    losses = tf.Variable([[3.0, 50.0, 7.0]])
    logits = tf.Variable([[1e4, 0.0, -1e4]])
    with tf.GradientTape() as tape:
        loss = objectives.unlabelled_loss(losses, logits)
    np.testing.assert_allclose(loss, [3.0])
    for gradient in tape.gradient(loss, [losses, logits]):
        assert np.all(np.isfinite(gradient))


def test_label_entropy_against_scipy(rng):
    logits = rng.normal(0, 3, size=(6, 4))
    expected = stats.entropy(special.softmax(logits, axis=1), axis=1)
    np.testing.assert_allclose(objectives.label_entropy(logits), expected, rtol=1e-6)
    np.testing.assert_allclose(objectives.label_entropy(np.zeros((1, 8))), np.log(8), rtol=1e-6)


def test_classification_loss_is_minus_log_q_of_the_true_class(rng):
    logits = rng.normal(size=(6, 4))
    labels = np.array([0, 1, 2, 3, 1, 0])
    expected = -special.log_softmax(logits, axis=1)[np.arange(6), labels]
    loss = objectives.classification_loss(logits, np.eye(4)[labels])
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    assert not np.allclose(loss, objectives.classification_loss(logits, np.eye(4)[labels[::-1]]))


def test_generative_loss_is_the_mean_over_all_training_points(rng):
    """Minibatches of any sizes stand for their sets: J / N = (sum_l L + sum_u U) / N."""
    labelled, unlabelled = rng.normal(5, 1, 30), rng.normal(9, 1, 170)
    expected = (labelled.sum() + unlabelled.sum()) / 200
    share = objectives.labelled_share(30, 170)
    value = objectives.generative_loss(labelled.mean(), unlabelled.mean(), share)
    np.testing.assert_allclose(value, expected)


@pytest.mark.parametrize(("weight", "share"), [(1.0, 30 / 200), (30 / 170, 0.5), (0.0, 1.0)])
def test_a_labelled_share_is_a_weight_of_every_unlabelled_point(weight, share, rng):
    """EM-lambda: sum_l L + lambda sum_u U, over the weights of all points."""
    labelled, unlabelled = rng.normal(5, 1, 30), rng.normal(9, 1, 170)
    expected = (labelled.sum() + weight * unlabelled.sum()) / (30 + weight * 170)
    value = objectives.generative_loss(labelled.mean(), unlabelled.mean(), share)
    np.testing.assert_allclose(value, expected)


def test_loss_weights_a_label_by_alpha():
    """alpha = 0.1 N on the mean: each of N_l labels weighs 0.1 N / N_l in N times the loss."""
    num_labelled, num_examples = 20, 1000
    one_label_wrong = 1.0 / num_labelled  # the mean when one of them costs 1 nat
    value = objectives.loss(0.0, one_label_wrong, 0.1, 0.0)
    np.testing.assert_allclose(num_examples * value, 0.1 * num_examples / num_labelled)
    np.testing.assert_allclose(objectives.loss(3.0, 2.0, 0.1, 0.5), 3.7)


def test_weight_prior_loss_is_the_standard_normal_density_without_its_constant(rng):
    weights = [rng.normal(size=(3, 4)), rng.normal(size=5)]
    flat = np.concatenate([w.ravel() for w in weights])
    log_density = stats.norm(0, 1).logpdf(flat).sum() + 0.5 * len(flat) * np.log(2 * np.pi)
    value = objectives.weight_prior_loss([tf.constant(w) for w in weights], num_examples=50)
    np.testing.assert_allclose(value, -log_density / 50, rtol=1e-5)


@pytest.mark.parametrize("top", [1, 3, 5])
def test_unlabelled_loss_of_a_few_classes_is_a_bound(top, rng):
    """-log sum_y exp(-L(x, y)) <= U(x) for q(y|x) kept to any of the classes, all 5 included."""
    logits, losses = rng.normal(size=(2, 50, 5)).astype(np.float32) * 3
    kept = np.argsort(-logits, axis=1)[:, :top]
    bound = objectives.unlabelled_loss(
        tf.constant(np.take_along_axis(losses, kept, axis=1)),
        tf.constant(np.take_along_axis(logits, kept, axis=1)),
    )
    tightest = -special.logsumexp(-losses, axis=1)
    assert np.all(bound.numpy() >= tightest - 1e-5)
