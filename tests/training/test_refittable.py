"""A network compiled once and fitted again to other labels: as if it were new each time."""

from dataclasses import replace

import numpy as np
import pytest

from tfssl.data.experiment import Experiment
from tfssl.errors import InputError
from tfssl.models import M2
from tfssl.settings import load_settings
from tfssl.training import build
from tfssl.training.fit import Place, fit
from tfssl.training.refittable import Refittable
from tfssl.training.strategy import make_strategy

SMALL = (
    "model=m2",
    "m2.epochs=4",
    "m2.hidden_units=[8]",
    "m2.latent_dim=2",
    "m2.supervised_steps=20",
)
STRATEGY = make_strategy("default")
PLACE = Place(STRATEGY, verbose=False)


@pytest.fixture(scope="module")
def experiment():
    return Experiment.prepare(load_settings(None, SMALL))


def with_labels(experiment, kept):
    parts = experiment.split
    fewer = replace(parts, x_labelled=parts.x_labelled[kept], label=parts.label[kept])
    return replace(experiment, split=fewer)


def test_fits_are_as_if_new_and_traced_once(experiment, monkeypatch):
    traces = []
    losses = M2.batch_losses

    def traced(self, batch, seed, training):
        traces.append("unlabelled" in batch)
        return losses(self, batch, seed, training)

    monkeypatch.setattr(M2, "batch_losses", traced)
    refittable = Refittable(build.m2_stage(experiment, STRATEGY), PLACE)
    first = refittable.fit().get_weights()
    assert {False, True} == set(traces)  # the warm start and the joint steps
    so_far = len(traces)

    network = refittable.network
    other = build.m2_stage(with_labels(experiment, np.arange(25)), STRATEGY, network)
    fewer_labels = refittable.fit(other).get_weights()
    shorter = refittable.fit(steps=30).get_weights()
    again = refittable.fit().get_weights()
    assert len(traces) == so_far

    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    for changed in (fewer_labels, shorter):
        assert not any(np.array_equal(a, b) for a, b in zip(first, changed, strict=True))
    assert int(network.optimizer.iterations) == refittable.steps


@pytest.mark.parametrize("warm_start", ["bound", "classifier"])
def test_a_fit_gives_what_the_stage_alone_gives(experiment, warm_start):
    settings = load_settings(None, [*SMALL, f"m2.warm_start={warm_start}"])
    experiment = replace(experiment, settings=settings)
    alone = build.m2_stage(experiment, STRATEGY)
    fit(alone, PLACE)
    refitted = Refittable(build.m2_stage(experiment, STRATEGY), PLACE).fit()
    x = experiment.preprocessing(experiment.split.x_test)
    np.testing.assert_allclose(refitted(x), alone.network(x), atol=1e-5)


def test_a_shorter_fit_decays_its_rate_in_its_own_time(experiment):
    refittable = Refittable(build.m2_stage(experiment, STRATEGY), PLACE)
    network = refittable.fit(steps=30)
    done = int(network.optimizer.iterations)
    assert 30 <= done < refittable.steps
    assert float(network.optimizer.learning_rate) == pytest.approx(0.0, abs=1e-9)


def test_a_stage_that_changes_its_steps_is_refused(experiment):
    settings = load_settings(None, [*SMALL, "m2.top_classes=2"])
    stage = build.m2_stage(replace(experiment, settings=settings), STRATEGY)
    with pytest.raises(InputError, match=r"callbacks.*m2\.top_classes"):
        Refittable(stage, PLACE)
