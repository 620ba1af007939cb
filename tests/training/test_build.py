"""Stages as values: what they learn from, in which order, for how long."""

import itertools

import numpy as np
import pytest

from tfssl.data.experiment import Experiment
from tfssl.settings import load_settings
from tfssl.training import build
from tfssl.training.strategy import make_strategy

SMALL = ["m1.hidden_units=[8]", "m2.hidden_units=[8]", "m1.latent_dim=4", "m2.latent_dim=2"]


def experiment(*overrides):
    return Experiment.prepare(load_settings(None, [*SMALL, *overrides]))


@pytest.fixture(scope="module")
def m2():
    return build.m2_stage(experiment("model=m2"), make_strategy("default"))


def labelled_rows(stage, count):
    """The labelled inputs of the first batches, [count * rows, D]."""
    return np.concatenate([batch["labelled"][0] for batch in stage.batches(0).take(count)])


def test_the_joint_stage_does_not_repeat_the_batches_of_the_warm_start(m2):
    """Both start at step 0, each with an order of its own."""
    warm, joint = (labelled_rows(stage, 5) for stage in (m2.warm_start, m2))
    assert warm.shape == joint.shape == (100, 64)
    assert np.mean(np.all(warm == joint, axis=1)) < 0.2
    np.testing.assert_array_equal(warm, labelled_rows(m2.warm_start, 5))


def test_the_warm_start_is_on_labels_alone_and_as_long_as_it_is_set(m2):
    assert set(next(iter(m2.warm_start.batches(0)))) == {"labelled"}
    assert (m2.warm_start.steps, m2.warm_start.steps_per_call, m2.warm_start.epochs) == (200, 50, 1)
    assert m2.warm_start.network is m2.network
    assert m2.warm_start.compile_options == {}
    classifier = experiment("model=m2", "m2.warm_start=classifier")
    warm = build.m2_stage(classifier, make_strategy("default")).warm_start
    assert warm.compile_options == {"only": "classifier"}
    without = build.m2_stage(
        experiment("model=m2", "m2.supervised_steps=0"), make_strategy("default")
    )
    assert without.warm_start is None


def test_what_anchors_the_class_reaches_the_network(m2):
    assert m2.network.share == 50 / 1297
    stage = build.m2_stage(
        experiment("model=m2", "m2.labelled_share=0.25"), make_strategy("default")
    )
    assert stage.network.share == 0.25


def test_a_stage_covers_its_inputs_and_decays_over_all_of_them(m2):
    """1247 unlabelled digits in batches of 50."""
    assert (m2.steps, m2.epochs) == (25, 200)
    assert m2.learning_rate.steps == 25 * 200
    assert m2.averaging_steps == pytest.approx(0.02 * 25 * 200)
    m1 = build.m1_stage(experiment("m1.kl_warmup=0.5"), make_strategy("default"))
    assert (m1.steps, m1.epochs) == (26, 200)  # the labelled ones too
    assert m1.compile_options == {"kl_warmup_steps": 0.5 * 26 * 200}
    assert m1.validation is None


def test_no_two_layers_of_a_stack_start_with_the_same_weights():
    """M1 and M2 have one seed in the settings."""
    same = ["m1.hidden_units=[5,5]", "m2.hidden_units=[5,5]", "m2.active_threshold=0"]
    settings, strategy = experiment("model=m1m2", *same), make_strategy("default")
    m1 = build.m1_stage(settings, strategy).network
    _, stack = build.stack_stage(settings, strategy, m1)
    kernels = [w for w in stack.get_weights() if w.ndim == 2]
    pairs = [(a, b) for a, b in itertools.combinations(kernels, 2) if a.shape == b.shape]
    assert len(pairs) >= 10  # of the five second hidden layers alone
    for one, other in pairs:
        assert np.abs(one - other).max() > 0.01
