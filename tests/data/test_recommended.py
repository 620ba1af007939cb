"""Automatic settings: by the kind of data, its size and its labels."""

import numpy as np
import pytest

from tfssl.data.experiment import Experiment
from tfssl.data.recommended import kind_of, nested, recommend
from tfssl.data.source import Source
from tfssl.settings import parse_settings


def make_source(x, label, levels=None, num_classes=2, x_test=None):
    x_test = x[:0] if x_test is None else x_test
    names = tuple(str(k) for k in range(num_classes))
    label_test = np.zeros(len(x_test), int)
    return Source("mine", x, np.asarray(label), x_test, label_test, names, levels)


def images(*shape):
    return np.random.default_rng(0).integers(0, 256, size=shape).astype(np.uint8)


LABELS = [0, 1] + 38 * [-1]


@pytest.mark.parametrize(
    ("x", "levels", "kind", "model", "likelihood"),
    [
        (images(40, 8, 8, 3), 255, "colour images", "m1m2", "isotropic"),
        (images(40, 8, 8), 255, "grey images", "m1m2", "bernoulli"),
        (images(40, 8, 8) % 17, 16, "counts", "m1", "binomial"),
        (images(40, 5) % 2 * 1.0, None, "binary features", "m2", "bernoulli"),
        (images(40, 5) / 3.0, None, "features", "m2", "columns"),
    ],
)
def test_every_kind_of_data_gets_settings_it_can_be_trained_with(
    x, levels, kind, model, likelihood
):
    source = make_source(x, LABELS, levels)
    assert kind_of(source) == kind
    settings = parse_settings(nested(recommend(source)))
    assert (settings.model, settings.likelihood) == (model, likelihood)
    experiment = Experiment.prepare(settings, source)
    assert len(experiment.split.label) == 2  # one label per class, none spent on testing
    assert len(experiment.split.x_unlabelled) == 38


def test_labels_are_held_out_only_where_there_are_enough():
    x = np.random.default_rng(0).normal(size=(1000, 3))
    label = np.arange(1000) % 2
    few = nested(recommend(make_source(x, np.where(np.arange(1000) < 38, label, -1))))["data"]
    assert (few["num_labelled"], few["num_test"], few["num_validation"]) == ("all", 0, 0)
    many = nested(recommend(make_source(x, label)))["data"]
    assert (many["num_test"], many["num_validation"]) == (200, 100)
    own = nested(recommend(make_source(x, label, x_test=x[:5])))["data"]
    assert own["num_test"] == 0


def test_larger_sets_get_fewer_epochs_in_larger_batches():
    def settings(count):
        x = np.zeros((count, 28, 28), np.uint8)
        return nested(recommend(make_source(x, [0, 1] + (count - 2) * [-1], 255)))

    small, large = settings(200), settings(60_000)
    assert small["m1"]["epochs"] == 200
    assert large["m1"]["epochs"] == round(10_000 / 240)
    assert (small["m1"]["batch_size"], large["m1"]["batch_size"]) == (50, 250)


@pytest.mark.parametrize("binary", [True, False])
def test_the_class_of_a_table_is_anchored_by_its_labels(binary):
    x = np.random.default_rng(0).normal(size=(40, 3))
    m2 = parse_settings(nested(recommend(make_source(x > 0 if binary else x, LABELS)))).m2
    assert (m2.labelled_share, m2.classification_weight) == (0.5, 1.0)
    assert (m2.warm_start, m2.clip_norm) == ("classifier", 50.0)


def test_many_classes_are_not_all_enumerated():
    x = np.random.default_rng(0).normal(size=(40, 3))
    assert "top_classes" not in nested(recommend(make_source(x, LABELS)))["m2"]
    for num_classes, top in ((24, None), (25, 2)):
        source = make_source(x, np.arange(40) % num_classes, num_classes=num_classes)
        assert nested(recommend(source))["m2"].get("top_classes") == top


def test_the_prior_of_a_table_is_that_of_its_unlabelled_points_or_its_labels():
    x = np.random.default_rng(0).normal(size=(20, 3))
    some = parse_settings(nested(recommend(make_source(x, 7 * [0] + [1] + 12 * [-1]))))
    assert some.m2.class_prior == "learned"
    source = make_source(x[:8], 7 * [0] + [1])
    settings = parse_settings(nested(recommend(source)))
    assert settings.m2.class_prior == "labelled"
    experiment = Experiment.prepare(settings, source)
    np.testing.assert_allclose(experiment.class_prior, [0.8, 0.2])  # (7 + 1) / 10, (1 + 1) / 10
