"""A learned p(y): the mode of a Dirichlet posterior, followed in training alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize

from tfssl.models import M2, LatentM2
from tfssl.models.priors import LearnedPrior

D, K = 6, 3
SEED = tf.constant([3, 4])


def make_m2(cls=M2, **kwargs):
    return cls(D, K, 10, 90, 4, (8,), likelihood="gaussian", class_prior="learned", **kwargs)


def dataset(rng):
    x = rng.normal(size=(25, D)).astype(np.float32)
    y = np.eye(K, dtype=np.float32)[rng.integers(0, K, 10)]
    return tf.data.Dataset.from_tensors({"labelled": (x[:10], y), "unlabelled": x[10:]}).repeat()


def test_it_is_the_mode_of_a_dirichlet_posterior():
    """log p(pi|points) = sum_k (N m_k + a / K) log pi_k, found by a search over the simplex."""
    count, pull, shares = 40, 0.2, np.array([0.7, 0.3])
    prior = LearnedPrior(2, pull)
    prior.shares.assign(shares)
    a = count * pull / (1 - pull)

    def loss(p):
        return -((count * shares + a / 2) * np.log([p, 1 - p])).sum()

    best = optimize.minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded").x
    np.testing.assert_allclose(prior.probabilities, [best, 1 - best], rtol=1e-4)


def test_it_forgets_geometrically():
    prior = LearnedPrior(2, pull=0.5, memory=10)
    np.testing.assert_allclose(prior.probabilities, [0.5, 0.5])
    for _ in range(30):
        prior.follow(tf.constant([1.0, 0.0]))
    shares = 1 - 0.5 * 0.9**30
    np.testing.assert_allclose(prior.shares, [shares, 1 - shares], rtol=1e-5)
    np.testing.assert_allclose(prior.probabilities, [0.25 + 0.5 * shares, 0.75 - 0.5 * shares])


def test_a_step_moves_it_by_q_and_an_evaluation_does_not(rng):
    m2, batches = make_m2(), dataset(rng)
    (batch,) = batches.take(1)
    q_y = m2(batch["unlabelled"]).numpy().mean(axis=0)
    m2.compile(keras.optimizers.SGD(0.0), jit_compile=False)
    m2.evaluate(batches.take(2), verbose=0)
    np.testing.assert_allclose(m2.learned_prior.shares, [1 / K] * K, rtol=1e-6)
    m2.fit(batches, steps_per_epoch=1, verbose=0, shuffle=False)
    np.testing.assert_allclose(m2.learned_prior.shares, 1 / K + (q_y - 1 / K) / 100, rtol=1e-5)


def test_the_bound_reads_it_and_no_gradient_changes_it(rng):
    m2 = make_m2()
    (batch,) = dataset(rng).take(1)
    before = m2.batch_losses(batch, SEED, training=True)
    m2.learned_prior.shares.assign([0.8, 0.1, 0.1])
    after = m2.batch_losses(batch, SEED, training=True)
    pi = 0.5 * np.array([0.8, 0.1, 0.1]) + 0.5 / K
    shift = -(batch["labelled"][1].numpy() @ np.log(pi * K)).mean()
    np.testing.assert_allclose(
        after["labelled_loss"] - before["labelled_loss"], shift, rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(m2.prior_y.mean(), pi, rtol=1e-6)
    assert not any(v is m2.learned_prior.shares for v in m2.trainable_variables)


@pytest.mark.parametrize("cls", [M2, LatentM2])
def test_it_is_saved_with_the_model(cls, tmp_path):
    m2 = make_m2(cls)
    m2.learned_prior.shares.assign([0.6, 0.3, 0.1])
    m2.save(tmp_path / "m2.keras")
    loaded = keras.saving.load_model(tmp_path / "m2.keras")
    for again in (loaded, m2.without_optimizer()):
        np.testing.assert_array_equal(again.prior_y.mean(), m2.prior_y.mean())
