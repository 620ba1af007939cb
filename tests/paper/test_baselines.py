"""The baselines: they learn, repeat themselves, keep their encoder, and refuse what they cannot do.

The penalty of the contractive auto-encoder is compared with the Jacobian that autodiff finds.
"""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.tables.trust import errors_table
from tfssl.classifiers import cae, cnn, shallow
from tfssl.data.experiment import Experiment
from tfssl.data.source import Source
from tfssl.errors import InputError
from tfssl.paper import baselines, study
from tfssl.settings import load_settings

SMALL = cae.Pretraining(units=(100,), steps=300)


def prepare(*overrides, source=None):
    return Experiment.prepare(load_settings(None, overrides), source)


@pytest.fixture(scope="module")
def digits():
    return prepare("seed=1")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Small networks and few steps: enough for 8x8 digits."""
    monkeypatch.setattr(cae, "STEPS", 200)
    monkeypatch.setattr(cnn, "STEPS", 100)
    monkeypatch.setattr(cae, "DEFAULT", SMALL)


def error(predict, experiment):
    """On the digits' test points: nothing was chosen on them here."""
    probabilities = predict(experiment.split.x_test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    assert probabilities.shape == (len(experiment.split.x_test), experiment.source.num_classes)
    return np.mean(probabilities.argmax(axis=1) != experiment.split.label_test)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("knn", 0.25),
        ("svm", 0.25),
        ("cnn", 0.25),
        ("tsvm", 0.2),
        ("cae", 0.3),
        ("label_spreading", 0.15),
        ("self_training", 0.25),
    ],
)
def test_learns_the_digits_from_50_labels_and_repeats_itself(name, most, digits):
    assert name in baselines.NAMES
    first = baselines.fit(name, digits)
    assert error(first, digits) < most
    x = digits.split.x_test[:20]
    np.testing.assert_array_equal(first(x), baselines.fit(name, digits)(x))
    assert first(x[:0]).shape == (0, 10)


def test_every_name_is_tested_and_known():
    names = ["knn", "svm", "cnn", "tsvm", "cae", "label_spreading", "self_training"]
    assert list(baselines.NAMES) == names
    with pytest.raises(InputError, match=", ".join(names)):
        baselines.fit("forest", None)
    with pytest.raises(InputError, match="the baseline must be one of"):
        study.run_study([load_settings()], [0], "nowhere", rivals=["forest"])


@pytest.mark.parametrize("name", ["cnn", "cae"])
def test_the_seed_of_the_experiment_matters_to_a_network(name, digits, tmp_path):
    other = replace(digits, settings=digits.settings.model_copy(update={"seed": 2}))
    x = digits.split.x_test[:20]
    one, two = (baselines.fit(name, e, cache=tmp_path)(x) for e in (digits, other))
    assert np.abs(one - two).max() > 1e-3


def test_chunks_do_not_change_predictions(digits, monkeypatch):
    x = digits.split.x_test[:25]
    for name in ("knn", "cnn"):
        predict = baselines.fit(name, digits)
        whole = predict(x)
        with monkeypatch.context() as patch:
            patch.setattr(baselines, "CHUNK", 7)
            np.testing.assert_allclose(predict(x), whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", baselines.NAMES)
def test_inputs_of_another_shape_are_refused(name, digits):
    predict = baselines.fit(name, digits)
    with pytest.raises(InputError, match="the input: inputs must have the shape"):
        predict(np.zeros((3, 9, 9), np.uint8))


def test_unlabelled_points_change_the_tsvm_and_labels_of_others_are_never_read(digits):
    """TSVM and label spreading beat what they are without unlabelled points."""
    alone = replace(digits, split=replace(digits.split, x_unlabelled=digits.split.x_unlabelled[:0]))
    for name in ("tsvm", "label_spreading"):
        with_them = error(baselines.fit(name, digits), digits)
        assert with_them < error(baselines.fit(name, alone), digits), name
    # Self-training may believe its own mistakes: unlabelled points change it, for better or worse.
    predicted = [baselines.fit("self_training", e)(digits.split.x_test) for e in (digits, alone)]
    assert np.abs(predicted[0] - predicted[1]).max() > 0.1


def test_a_point_that_spreading_does_not_reach_is_uniform():
    """Two far groups, labels in one of them: in the other nothing is known, not even NaN."""
    x = np.concatenate([np.linspace(0, 1, 30), np.linspace(100, 101, 30)])[:, np.newaxis]
    label = np.full(60, -1)
    label[[0, 29]] = [0, 1]
    classifier = shallow.make_classifier("label_spreading", 0, x.shape).fit(x, label)
    found = shallow.probabilities(classifier, np.array([[0.0], [1.0], [100.5]]))
    np.testing.assert_array_equal(found[:2].argmax(axis=1), [0, 1])
    np.testing.assert_array_equal(found[2], [0.5, 0.5])


def colour_source(rng, shape):
    """Images whose class is which half is bright."""
    label = np.arange(200) % 2
    x = rng.integers(0, 100, (200, *shape), np.uint8)
    half = shape[1] // 2
    x[label == 0, :, :half] += 100
    x[label == 1, :, half:] += 100
    return Source("halves", x[:100], label[:100], x[100:], label[100:], ("left", "right"), 255)


@pytest.mark.parametrize("shape", [(7, 9, 3), (13, 6), (1, 2)])
def test_cnn_takes_images_of_any_size_grey_or_colour(rng, shape):
    experiment = prepare("data.num_labelled=40", source=colour_source(rng, shape))
    assert error(cnn_predict := baselines.fit("cnn", experiment), experiment) < 0.1
    assert cnn_predict(experiment.split.x_test[:3]).shape == (3, 2)


def features(rng):
    """Two Gaussian classes in four dimensions, no images."""
    label = np.arange(200) % 2
    x = (rng.normal(size=(200, 4)) + 3.0 * label[:, np.newaxis]).astype(np.float32)
    source = Source("blobs", x[:100], label[:100], x[100:], label[100:], ("0", "1"), None)
    return prepare("likelihood=gaussian", "data.num_labelled=20", source=source)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cnn", r"the CNN needs images.*shape=\(20, 4\)"),
        ("cae", r"the CAE needs inputs in \[0, 1\].*smallest=-"),
    ],
)
def test_networks_refuse_data_that_they_are_not_made_for(rng, name, message):
    with pytest.raises(InputError, match=message):
        baselines.fit(name, features(rng))


@pytest.mark.parametrize("name", ["knn", "svm", "tsvm", "label_spreading", "self_training"])
def test_the_others_take_any_features(rng, name):
    experiment = features(rng)
    assert error(baselines.fit(name, experiment), experiment) < 0.1


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


def test_a_larger_weight_contracts_more(digits):
    x = digits.preprocessing(digits.split.x_train).numpy()

    def penalty(weight):
        ((kernel, bias),) = cae.pretrain(x, replace(SMALL, penalty_weight=weight))
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


def test_encoder_is_kept_and_shared_by_splits_of_the_same_inputs(tmp_path, monkeypatch):
    """Other labels, same inputs: one encoder. Other settings or other inputs: another."""
    source = prepare().source
    x, label = source.x[:800], source.label[:800]
    source = replace(source, x=x, label=label, x_test=source.x[800:], label_test=source.label[800:])
    experiments = [
        prepare(f"data.split_seed={s}", f"data.num_labelled={n}", source=source)
        for s, n in ((0, 50), (1, 50), (0, 100))
    ]
    small = cae.Pretraining(units=(20,), steps=20)
    inputs = experiments[0].split.x_test[:20]
    alone = cae.fit(experiments[0], pretraining=small)(inputs)
    kept = cae.fit(experiments[0], cache=tmp_path / "new", pretraining=small)(inputs)
    (path,) = (tmp_path / "new").iterdir()

    def fail(*_):
        raise AssertionError("pretrained again")

    with monkeypatch.context() as patch:
        patch.setattr(cae, "pretrain", fail)
        for experiment in experiments[1:]:
            cae.fit(experiment, cache=tmp_path / "new", pretraining=small)
        again = cae.fit(experiments[0], cache=tmp_path / "new", pretraining=small)(inputs)
    np.testing.assert_array_equal(alone, kept)
    np.testing.assert_array_equal(alone, again)

    held_out = prepare("data.num_validation=100", source=source)
    cae.fit(held_out, cache=tmp_path / "new", pretraining=small)
    cae.fit(experiments[0], cache=tmp_path / "new", pretraining=replace(small, steps=21))
    assert len(list((tmp_path / "new").iterdir())) == 3

    with pytest.raises(InputError, match="cannot create"):
        cae.fit(experiments[0], cache=path, pretraining=small)
    path.write_bytes(b"PK")
    with pytest.raises(InputError, match="Remove it to pretrain again"):
        cae.fit(experiments[0], cache=tmp_path / "new", pretraining=small)


def test_a_study_runs_the_rivals_it_is_given(tmp_path):
    settings = load_settings(None, ["m1.epochs=1", "m1.classifier=knn"])
    results = study.run_study([settings], [0], tmp_path, lambda _: None, rivals=["knn", "cae"])
    assert [result["method"] for result in results] == ["1-NN", "CAE", "M1+1-NN"]
    # 500 of the 1797 digits are for testing, and each split draws them anew.
    assert [result["overlap"] for result in results] == [500 / 1297] * 3
    rows = errors_table(tmp_path / "results").splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| 1-NN", "| CAE", "| M1+1-NN"]
    assert len(list((tmp_path / "cache").iterdir())) == 1
