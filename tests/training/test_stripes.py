"""M2 at work: a few labels and many unlabelled points beat the labels alone, over seeds."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from tfssl.data.experiment import Experiment
from tfssl.data.source import Source
from tfssl.settings import load_settings
from tfssl.training import build
from tfssl.training.fit import Place, fit, warm_up
from tfssl.training.stage import unwatched
from tfssl.training.strategy import make_strategy

SETTINGS = [
    "model=m2",
    "likelihood=gaussian",
    "data.num_labelled=all",
    # One latent dimension: a stripe is a curve, and which of the two it is must be y.
    "m2.latent_dim=1",
    "m2.hidden_units=[50]",
    "m2.epochs=400",
    "m2.batch_size=100",
    "m2.labelled_batch_size=6",
    "m2.learning_rate=0.01",
    "m2.supervised_steps=500",
]


def stripes(seed, labels_per_class=3):
    """Two parallel bent stripes, long along t and close across: few labels hide their run."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 2000)
    t = rng.normal(0, 3, 2000)
    across = 2.0 * label - 1.0 + 0.1 * t**2 + rng.normal(0, 0.25, 2000)
    x = np.stack([t + across, t - across], axis=1).astype(np.float32)
    given = np.full(1000, -1)
    for k in (0, 1):
        rows = np.flatnonzero(label[:1000] == k)[:labels_per_class]
        given[rows] = k
    return Source(
        name="stripes",
        x=x[:1000],
        label=given,
        x_test=x[1000:],
        label_test=label[1000:],
        class_names=("0", "1"),
        levels=None,
    )


def errors(seed, *overrides):
    """Test errors of M2, of its classifier after the supervised steps alone, and of an SVM."""
    settings = load_settings(None, [*SETTINGS, f"seed={seed}", *overrides])
    experiment = Experiment.prepare(settings, stripes(seed))
    parts, preprocessing = experiment.split, experiment.preprocessing
    x, x_test = preprocessing(parts.x_labelled).numpy(), preprocessing(parts.x_test).numpy()

    def error(predicted):
        return float(np.mean(predicted != parts.label_test))

    place = Place(make_strategy("default"), verbose=False)
    stage = unwatched(build.m2_stage(experiment, place.strategy))
    # All else is the same model: the unlabelled points join in the second part.
    warm_up(stage.warm_start, place)
    supervised_part = error(stage.network(x_test).numpy().argmax(axis=1))
    fit(replace(stage, warm_start=None), place)
    m2 = error(stage.network(x_test).numpy().argmax(axis=1))
    svm = error(SVC(C=10).fit(x, parts.label).predict(x_test))
    return m2, supervised_part, svm


def check_that_the_error_is_a_fraction(seeds, *overrides):
    m2, supervised_part, svm = np.array([errors(seed, *overrides) for seed in seeds]).T
    assert m2.mean() < supervised_part.mean() / 3, (m2, supervised_part)
    assert m2.mean() < svm.mean() / 3, (m2, svm)


def test_unlabelled_points_make_the_error_a_fraction():
    check_that_the_error_is_a_fraction(range(3), "m2.epochs=200", "m2.supervised_steps=200")


@pytest.mark.slow
def test_unlabelled_points_make_the_error_a_fraction_over_five_seeds():
    check_that_the_error_is_a_fraction(range(5))
