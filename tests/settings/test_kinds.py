"""Every kind that settings know is known where it is made, and has a name in tables."""

from typing import get_args

import pytest

from tfssl.classifiers import make_classifier
from tfssl.export.classifier_graphs import SCORES
from tfssl.models import ONE_STAGE
from tfssl.models.distributions import GaussianLayer
from tfssl.models.likelihoods import LAYERS, NAMES
from tfssl.settings import kinds, load_settings
from tfssl.settings.kinds import Classifier, Likelihood, Model, method_name


def test_every_model_has_a_name_and_a_description():
    assert set(get_args(Model)) == set(kinds.MODELS) == set(kinds.DESCRIPTIONS)
    assert set(get_args(Model)) - {"auto", "m1", "m1m2"} == set(ONE_STAGE)


def test_every_likelihood_has_a_layer_and_components_are_for_gaussian_ones():
    assert set(get_args(Likelihood)) == set(NAMES)
    gaussian = {name for name, layer in LAYERS.items() if issubclass(layer, GaussianLayer)}
    assert gaussian == set(kinds.UNBOUNDED)


@pytest.mark.parametrize("name", get_args(Classifier))
def test_every_classifier_can_be_made_exported_and_named(name):
    made = make_classifier(name)
    assert type(made).__name__ in SCORES
    settings = load_settings(None, ["model=m1", f"m1.classifier={name}"])
    assert method_name(settings) == f"M1+{kinds.CLASSIFIERS[name]}"
