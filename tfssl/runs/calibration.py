"""Temperature scaling: probabilities that say how often the classifier is right.

  p_T(y|x) = p(y|x)^(1/T) / sum_k p(k|x)^(1/T)

T > 1 softens, T < 1 sharpens; the likeliest class stays. T minimises the log-loss of points whose
labels the classifier has not been fitted to, and that are never test points: the validation points,
or the labelled training points, each classified by a model that was trained without it
(cross-fitting).

C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.
"""

import math

import numpy as np
from scipy import optimize, special

from tfssl.classifiers.temperature import log_scores
from tfssl.errors import expect
from tfssl.runs.predicting import class_probabilities
from tfssl.runs.temperature import SHARPEST, SOFTEST, Calibration

# Of M1's classifier, fitted five times more: up to here that is short beside training M1.
MOST_TO_CROSS_FIT = 5_000


def smoothed_log_loss(probabilities, label, temperature):
    """Mean log-loss of p_T, as if one more point had been seen, with a share of every class.

    That point (Platt's, here for K classes) keeps T away from 0 where every label is the likeliest
    class, as with few labels it easily is.
    """
    log_p = special.log_softmax(log_scores(probabilities) / temperature, axis=1)
    count, chosen = len(label), log_p[np.arange(len(label)), label].mean()
    return -float(count * chosen + log_p.mean()) / (count + 1)


def fit_temperature(probabilities, label):
    """The T with the least `smoothed_log_loss`.

    Args:
      probabilities: [N, K] of points that the classifier was not fitted to.
      label: [N] integers.
    """
    # Convex in 1/T, so it has one minimum in log T.
    result = optimize.minimize_scalar(
        lambda log_t: smoothed_log_loss(probabilities, label, math.exp(log_t)),
        bounds=(math.log(SHARPEST), math.log(SOFTEST)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return math.exp(result.x)


def obstacle(experiment, model):
    """Why training does not fit a temperature, or None if it does, because that is quick."""
    parts = experiment.split
    if len(parts.x_validation):
        return None
    if model.has_classes:
        return "there are no validation points, and to cross-fit M2 it is trained several times"
    if _fewest(parts.label) < 2:
        return "there are no validation points, and a class has one label only"
    transductive = experiment.settings.m1.classifier == "tsvm"
    points = len(parts.label) + transductive * len(parts.x_unlabelled)
    if points > MOST_TO_CROSS_FIT:
        return f"there are no validation points, and to cross-fit {points} points takes long"
    return None


def calibrate(experiment, model, classifier, refitting, on="auto", folds=5, progress=iter):
    """Fit the temperature of a trained model; nothing is written.

    Args:
      experiment: the `Experiment` that it was trained on.
      model: M1, M2 or StackedM1M2.
      classifier: the fitted classifier on M1's features, None of the other models.
      refitting: (experiment, model) -> the `fit_and_predict` of `cross_fitted`: as
        `tfssl.training.refit` trains, what training itself knows and this room does not.
      on: "validation", "labelled", or "auto" for validation points if there are any.
      folds: of the cross-fitting on labelled points; fewer where a class has fewer labels.
      progress: wraps the list of folds as it is walked.

    Returns:
      calibration: a `Calibration`.
    """
    parts = experiment.split
    if on == "auto":
        on = "validation" if len(parts.x_validation) else "labelled"
    if on == "validation":
        expect(
            len(parts.x_validation) > 0,
            "the run must have validation points to be calibrated on",
            hint="Use --on labelled, or train with data.num_validation.",
            validation_points=0,
        )
        outputs = class_probabilities(
            model, classifier, experiment.preprocessing, parts.x_validation
        )
        label = parts.label_validation
        return Calibration(fit_temperature(outputs, label), on, len(label))
    fewest = _fewest(parts.label)
    expect(
        fewest >= 2,
        "every class must have at least two labelled points to cross-fit on them",
        hint="Label more, or train with data.num_validation.",
        fewest=fewest,
    )
    folds = min(folds, fewest)
    outputs = cross_fitted(
        refitting(experiment, model),
        parts.label,
        experiment.source.num_classes,
        folds,
        experiment.settings.seed,
        progress,
    )
    return Calibration(fit_temperature(outputs, parts.label), on, len(parts.label), folds)


def cross_fitted(fit_and_predict, label, num_classes, folds, seed=0, progress=iter):
    """[N, K] probabilities of labelled points, each by a classifier fitted without its fold.

    Args:
      fit_and_predict: (rows to fit to, rows to predict) -> [rows to predict, K] probabilities.
      label: [N] integers; folds are balanced by it.
      num_classes: K.
      folds: how many.
      seed: seed of the folds.
      progress: wraps the list of folds as it is walked.
    """
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    outputs = np.empty((len(label), num_classes))
    for kept, held_out in progress(list(splitter.split(label, label))):
        outputs[held_out] = fit_and_predict(kept, held_out)
    return outputs


def _fewest(label):
    """The least number of labels of a class; every class has one."""
    return int(np.bincount(label).min())
