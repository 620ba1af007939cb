"""The stages of an experiment in order: M1, then M2 or a classifier on its features."""

from dataclasses import dataclass, replace
from typing import Any

from tfssl.classifiers import fit_classifier, make_classifier
from tfssl.data.batches import in_batches
from tfssl.models import ONE_STAGE
from tfssl.models.base import GenerativeModel
from tfssl.training import build
from tfssl.training.fit import Fitted, fit
from tfssl.training.stage import unwatched

NUM_PICTURES = 10


@dataclass(frozen=True)
class Trained:
    """An experiment's outcome.

    Attributes:
      model: M1, M2 or StackedM1M2, without its optimizer and the devices it was trained on.
      classifier: the fitted classifier on M1's features, None of the other models.
      fitted: {stage: `Fitted`}.
    """

    model: GenerativeModel
    classifier: Any
    fitted: dict[str, Fitted]


def fit_experiment(experiment, place, m1=None):
    """Train what `settings.model` asks for: a `Trained`.

    Args:
      experiment: an `Experiment`.
      place: a `Place`.
      m1: a trained M1 to use instead of training one.
    """
    kind, fitted = experiment.settings.model, {}

    def run(stage, whole):
        if place.folder is None:
            stage = unwatched(stage)
        elif place.draw is not None:
            stage = drawing(stage, experiment, whole, place.draw)
        fitted[stage.name] = fit(stage, place)

    if kind in ONE_STAGE:
        stage = build.m2_stage(experiment, place.strategy)
        run(stage, stage.network)
        return Trained(stage.network.without_optimizer(), None, fitted)
    if m1 is None:
        stage = build.m1_stage(experiment, place.strategy)
        run(stage, stage.network)
        m1 = stage.network
    if kind == "m1m2":
        stage, stack = build.stack_stage(experiment, place.strategy, m1)
        run(stage, stack)
        return Trained(stack.without_optimizer(), None, fitted)
    m1 = m1.without_optimizer()
    return Trained(m1, classifier_on(features_of(m1, experiment), experiment), fitted)


def fit_m1(experiment, place):
    """Train M1 alone, and return it."""
    stage = unwatched(build.m1_stage(experiment, place.strategy))
    fit(stage, place)
    return stage.network.without_optimizer()


def features_of(m1, experiment):
    """Means of M1's latents, of the labelled and of the unlabelled points: [N_l, F], [N_u, F]."""
    labelled, unlabelled = (
        in_batches(lambda x: m1.latents(experiment.preprocessing(x)), x)
        for x in (experiment.split.x_labelled, experiment.split.x_unlabelled)
    )
    return labelled, unlabelled


def classifier_on(features, experiment):
    """The classifier of `settings.m1`, fitted to the `features_of` the points."""
    settings = experiment.settings
    classifier = make_classifier(settings.m1.classifier, settings.seed)
    labelled, unlabelled = features
    return fit_classifier(classifier, labelled, experiment.split.label, unlabelled)


def drawing(stage, experiment, whole, draw):
    """The stage, with pictures of the model `whole` that it trains a part of, if x are images."""
    if experiment.source.image_shape is None:
        return stage
    preprocessing = experiment.preprocessing
    x = preprocessing(experiment.split.x_train[:NUM_PICTURES])
    return replace(stage, draw=lambda: draw(whole, x, preprocessing))
