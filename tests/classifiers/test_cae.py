"""The contractive auto-encoder: its equations, its encoder, the file that keeps it.

The penalty is compared with the Jacobian that autodiff finds.
"""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

from tfssl.classifiers import cae
from tfssl.errors import InputError

TINY = cae.Pretraining(units=(20,), steps=20)


def classifier(**parameters):
    return cae.ContractiveClassifier(**{"pretraining": TINY, "steps": 20, **parameters})


def test_penalty_is_the_squared_norm_of_the_jacobian(rng):
    """Value, and gradient in the weights and in the input, against autodiff."""
    x = tf.constant(rng.uniform(size=(5, 7)), tf.float64)
    kernel = tf.constant(rng.normal(size=(7, 4)), tf.float64)
    bias = tf.constant(rng.normal(size=4), tf.float64)
    weight = tf.constant(rng.uniform(1, 2, size=5), tf.float64)  # of each row, to tell them apart

    def encode(x, kernel, bias):
        return tf.sigmoid(x @ kernel + bias)

    arguments = (x, kernel, bias)
    with tf.GradientTape() as outer:
        outer.watch(arguments)
        with tf.GradientTape() as inner:
            inner.watch(x)
            h = encode(*arguments)
        jacobian = inner.batch_jacobian(h, x)  # [batch, H, D]
        expected = tf.reduce_sum(jacobian**2, axis=[1, 2])
        expected_total = tf.reduce_sum(weight * expected)
    expected_gradients = outer.gradient(expected_total, arguments)

    with tf.GradientTape() as tape:
        tape.watch(arguments)
        penalty = cae.contractive_penalty(encode(*arguments), kernel)
        total = tf.reduce_sum(weight * penalty)
    np.testing.assert_allclose(penalty, expected, rtol=1e-12)
    for got, want in zip(tape.gradient(total, arguments), expected_gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-14)


def test_loss_of_the_autoencoder_is_reconstruction_and_penalty(rng):
    """`fit`'s loss against NumPy: tied weights, summed cross-entropy, lambda times the penalty."""
    x = rng.uniform(size=(6, 5)).astype(np.float32)
    model = cae.ContractiveAutoencoder(5, 3, penalty_weight=0.7, seed=1)
    model.decoder_bias.assign(rng.normal(size=5))
    model.compile(loss=cae.reconstruction_loss)
    got = model.evaluate(x, x, batch_size=6, verbose=0)

    (W, b), c = model.encoder.get_weights(), np.array(model.decoder_bias)
    h = 1 / (1 + np.exp(-(x @ W + b)))
    p = 1 / (1 + np.exp(-(h @ W.T + c)))
    cross_entropy = -(x * np.log(p) + (1 - x) * np.log(1 - p)).sum(axis=1)
    jacobians = np.einsum("nj,dj->njd", h * (1 - h), W)
    penalty = (jacobians**2).sum(axis=(1, 2))
    np.testing.assert_allclose(got, np.mean(cross_entropy + 0.7 * penalty), rtol=1e-5)


def test_a_larger_weight_contracts_more():
    x = (load_digits().data[:1297] / 16).astype(np.float32)

    def penalty(weight):
        settings = cae.Pretraining(units=(100,), steps=300, penalty_weight=weight)
        ((kernel, bias),) = cae.pretrain(x, settings)
        return np.mean(cae.contractive_penalty(tf.sigmoid(x @ kernel + bias), kernel))

    assert penalty(1.0) < penalty(0.0) / 2


def test_classifier_starts_with_the_encoder(rng):
    layers = [(rng.normal(size=(5, 4)), rng.normal(size=4)), (rng.normal(size=(4, 3)), np.ones(3))]
    x = rng.uniform(size=(2, 5))
    network = cae.make_network(layers, num_classes=2, seed=0)
    *_, kernel, bias = network.get_weights()
    h = x
    for W, b in layers:
        h = 1 / (1 + np.exp(-(h @ W + b)))
    np.testing.assert_allclose(network(x), h @ kernel + bias, rtol=1e-5, atol=1e-6)


def test_encoder_does_not_depend_on_the_order_of_its_inputs(rng):
    x = rng.uniform(size=(50, 6)).astype(np.float32)
    settings = cae.Pretraining(units=(4, 3), steps=5, batch_size=10)
    one, two = cae.pretrain(x, settings), cae.pretrain(rng.permutation(x), settings)
    assert [kernel.shape for kernel, _ in one] == [(6, 4), (4, 3)]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


@pytest.fixture
def points(rng):
    """60 points in [0, 1], 12 of them labelled by what is larger."""
    x = rng.uniform(size=(60, 6)).astype(np.float32)
    return x, np.where(np.arange(60) < 12, x[:, :3].sum(axis=1) > x[:, 3:].sum(axis=1), -1)


def test_points_without_a_label_form_the_encoder(points, rng):
    x, y = points
    every = classifier().fit(x, y).predict_proba(x)
    labelled = classifier().fit(x[:12], y[:12]).predict_proba(x)
    assert np.abs(every - labelled).max() > 1e-3
    # In which order they come is no matter.
    order = np.concatenate([np.arange(12), rng.permutation(np.arange(12, 60))])
    np.testing.assert_array_equal(classifier().fit(x[order], y).predict_proba(x), every)


def test_the_encoder_is_kept_for_the_same_inputs(points, tmp_path, monkeypatch):
    """Other labels, same inputs: one encoder. Other settings or other inputs: another."""
    x, y = points
    folder = tmp_path / "new"
    alone = classifier().fit(x, y).predict_proba(x)
    kept = classifier(cache=folder).fit(x, y).predict_proba(x)
    (path,) = folder.iterdir()

    def fail(*_):
        raise AssertionError("pretrained again")

    with monkeypatch.context() as patch:
        patch.setattr(cae, "pretrain", fail)
        classifier(cache=folder).fit(x[::-1], y)
        again = classifier(cache=folder).fit(x, y).predict_proba(x)
    np.testing.assert_array_equal(alone, kept)
    np.testing.assert_array_equal(alone, again)

    classifier(cache=folder).fit(x[:50], y[:50])
    classifier(cache=folder, pretraining=replace(TINY, steps=21)).fit(x, y)
    assert len(list(folder.iterdir())) == 3

    with pytest.raises(InputError, match="cannot create"):
        classifier(cache=path).fit(x, y)
    path.write_bytes(b"PK")
    with pytest.raises(InputError, match="Remove it to pretrain again"):
        classifier(cache=folder).fit(x, y)


def test_inputs_beyond_0_and_1_are_refused(points):
    x, y = points
    with pytest.raises(InputError, match=r"the CAE needs inputs in \[0, 1\].*smallest=-"):
        classifier().fit(x - 0.5, y)
