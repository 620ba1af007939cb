"""An experiment's model trained again on fewer labels, to classify those that were left out."""

from dataclasses import replace

from tfssl.classifiers import probabilities
from tfssl.runs.predicting import class_probabilities
from tfssl.runs.provenance import m1_of
from tfssl.training.fit import Place
from tfssl.training.sequence import classifier_on, features_of, fit_experiment
from tfssl.training.strategy import make_strategy


def refitting(experiment, model):
    """The function (kept, held_out) -> [held_out, K] probabilities of labelled points.

    It fits the trained `model` again with the `kept` labels. M1 has seen no label and stays: of
    model = "m1" only the classifier is fitted again, of "m1m2" M2, of "m2" everything.
    """
    settings, parts = experiment.settings, experiment.split

    def of(kept):
        fewer = replace(parts, x_labelled=parts.x_labelled[kept], label=parts.label[kept])
        return replace(experiment, split=fewer)

    if not model.has_classes:
        labelled, unlabelled = features_of(model, experiment)

        def refit_classifier(kept, held_out):
            classifier = classifier_on((labelled[kept], unlabelled), of(kept))
            return probabilities(classifier, labelled[held_out])

        return refit_classifier

    def refit_m2(kept, held_out):
        place = Place(
            make_strategy(settings.device.strategy), settings.device.jit_compile, verbose=False
        )
        trained = fit_experiment(of(kept), place, m1_of(model))
        x = parts.x_labelled[held_out]
        return class_probabilities(trained.model, None, experiment.preprocessing, x)

    return refit_m2
