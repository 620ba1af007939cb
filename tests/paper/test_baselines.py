"""The baselines on an experiment: they learn, repeat themselves, and share an encoder."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from benchmarks.tables.trust import errors_table
from tfssl.classifiers import cae, cnn
from tfssl.data.experiment import Experiment
from tfssl.data.source import Source
from tfssl.errors import InputError
from tfssl.paper import baselines, study
from tfssl.settings import load_settings


def prepare(*overrides, source=None):
    return Experiment.prepare(load_settings(None, overrides), source)


@pytest.fixture(scope="module")
def digits():
    return prepare("seed=1")


@pytest.fixture(autouse=True, scope="module")
def _quick():
    """Small networks and few steps: enough for 8x8 digits."""
    small = cae.Pretraining(units=(100,), steps=300)
    quick_cae = partial(cae.ContractiveClassifier, steps=200, pretraining=small)
    quick_cnn = partial(cnn.ConvolutionalClassifier, steps=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cae, "ContractiveClassifier", quick_cae)
        patch.setattr(cnn, "ConvolutionalClassifier", quick_cnn)
        yield


@pytest.fixture(scope="module")
def fitted(digits):
    """A function: name -> a baseline fitted to the digits, once."""
    return cache(lambda name: baselines.fit(name, digits))


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
def test_learns_the_digits_from_50_labels_and_repeats_itself(name, most, digits, fitted):
    assert name in baselines.NAMES
    first = fitted(name)
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
def test_the_seed_of_the_experiment_matters_to_a_network(name, digits, fitted):
    other = replace(digits, settings=digits.settings.model_copy(update={"seed": 2}))
    x = digits.split.x_test[:20]
    assert np.abs(fitted(name)(x) - baselines.fit(name, other)(x)).max() > 1e-3


def test_chunks_do_not_change_predictions(digits, fitted, monkeypatch):
    x = digits.split.x_test[:25]
    for name in ("knn", "cnn"):
        predict = fitted(name)
        whole = predict(x)
        with monkeypatch.context() as patch:
            patch.setattr(baselines, "CHUNK", 7)
            np.testing.assert_allclose(predict(x), whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", baselines.NAMES)
def test_inputs_of_another_shape_are_refused(name, fitted):
    predict = fitted(name)
    with pytest.raises(InputError, match="the input: inputs must have the shape"):
        predict(np.zeros((3, 9, 9), np.uint8))


def test_unlabelled_points_change_the_tsvm_and_labels_of_others_are_never_read(digits, fitted):
    """TSVM and label spreading beat what they are without unlabelled points."""
    alone = replace(digits, split=replace(digits.split, x_unlabelled=digits.split.x_unlabelled[:0]))
    for name in ("tsvm", "label_spreading"):
        with_them = error(fitted(name), digits)
        assert with_them < error(baselines.fit(name, alone), digits), name
    # Self-training may believe its own mistakes: unlabelled points change it, for better or worse.
    x = digits.split.x_test
    without = baselines.fit("self_training", alone)(x)
    assert np.abs(fitted("self_training")(x) - without).max() > 0.1


def features(rng):
    """Two Gaussian classes in four dimensions, no images."""
    label = np.arange(200) % 2
    x = (rng.normal(size=(200, 4)) + 3.0 * label[:, np.newaxis]).astype(np.float32)
    source = Source("blobs", x[:100], label[:100], x[100:], label[100:], ("0", "1"), None)
    return prepare("likelihood=gaussian", "data.num_labelled=20", source=source)


@pytest.mark.parametrize("name", ["knn", "svm", "tsvm", "label_spreading", "self_training"])
def test_the_others_take_any_features(rng, name):
    experiment = features(rng)
    assert error(baselines.fit(name, experiment), experiment) < 0.1


def test_splits_of_the_same_inputs_share_an_encoder(tmp_path, monkeypatch):
    """Other labels, same inputs: one encoder. Other inputs: another."""
    tiny = cae.Pretraining(units=(20,), steps=20)
    make = partial(cae.ContractiveClassifier, steps=20, pretraining=tiny)
    monkeypatch.setattr(cae, "ContractiveClassifier", make)
    source = prepare().source
    x, label = source.x[:800], source.label[:800]
    source = replace(source, x=x, label=label, x_test=source.x[800:], label_test=source.label[800:])
    for split_seed, num_labelled in ((0, 50), (1, 50), (0, 100)):
        overrides = f"data.split_seed={split_seed}", f"data.num_labelled={num_labelled}"
        baselines.fit("cae", prepare(*overrides, source=source), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    baselines.fit("cae", prepare("data.num_validation=100", source=source), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_study_runs_the_rivals_it_is_given(tmp_path):
    settings = load_settings(None, ["m1.epochs=1", "m1.classifier=knn"])
    results = study.run_study([settings], [0], tmp_path, lambda _: None, rivals=["knn", "cae"])
    assert [result["method"] for result in results] == ["1-NN", "CAE", "M1+1-NN"]
    # 500 of the 1797 digits are for testing, and each split draws them anew.
    assert [result["overlap"] for result in results] == [500 / 1297] * 3
    rows = errors_table(tmp_path / "results").splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| 1-NN", "| CAE", "| M1+1-NN"]
    assert len(list((tmp_path / "cache").iterdir())) == 1
