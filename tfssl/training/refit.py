"""A run's model trained again on fewer labels, for probabilities of those that were left out."""

from dataclasses import replace

from tfssl.runs.predicting import class_probabilities
from tfssl.training.fit import Place
from tfssl.training.sequence import fit_experiment
from tfssl.training.strategy import make_strategy


def refitted(opened, kept, held_out):
    """[held_out, K] probabilities of labelled points, by the run's model with the `kept` labels.

    M1 has seen no label and stays: of model = "m1" only the classifier is fitted again, of "m1m2"
    M2, of "m2" everything.
    """
    run, parts = opened.run, opened.experiment.split
    m1 = {"m1": run.model, "m1m2": getattr(run.model, "m1", None)}.get(run.settings.model)
    fewer = replace(parts, x_labelled=parts.x_labelled[kept], label=parts.label[kept])
    device = run.settings.device
    place = Place(make_strategy(device.strategy), device.jit_compile, verbose=False)
    trained = fit_experiment(replace(opened.experiment, split=fewer), place, m1)
    return class_probabilities(
        trained.model, trained.classifier, run.preprocessing, parts.x_labelled[held_out]
    )
