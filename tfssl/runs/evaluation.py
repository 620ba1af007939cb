"""Numbers to trust: error with a confidence interval, calibration, bounds and likelihoods."""

import numpy as np
from scipy import special, stats

from tfssl.data import batches
from tfssl.errors import expect
from tfssl.models import importance
from tfssl.runs.metrics import classification_metrics
from tfssl.runs.predicting import class_probabilities


def bounds(model, preprocessing, x, label, num_classes, batch_size=1000):
    """Mean loss terms (nats) of the model on stored inputs, by the model's own names.

    Of whitened inputs, the terms of M1 and M2 that contain -log p(x) are those of the intensities
    in [0, 1], or of the standardised features, over the subspace that whitening keeps. M1+M2's
    terms are about z1 and stay as they are.
    """
    dataset = batches.evaluation(x, label, num_classes, batch_size, preprocessing)
    if not model.compiled:
        model.compile(jit_compile=False)
    terms = model.evaluate(dataset, return_dict=True, verbose=0)
    bounds = {name: float(value) for name, value in terms.items()}
    # -log p(scaled x) = -log p(x as the model sees it) - log_det
    whitened = {name: bounds[name] - preprocessing.log_det for name in model.density_losses}
    return bounds | whitened


def likelihood_metrics(model, preprocessing, x, label, num_samples, seed=0, progress=iter):
    """log p(x) beside its bound, and for M2 and the stack the errors of q(y|x) and Bayes' rule.

    A Bernoulli likelihood's log p(x) is that of one binary image per point; both classifiers see
    the intensities themselves.

    Args:
      model: M1, M2 or StackedM1M2.
      preprocessing: stored inputs -> what the model sees.
      x: stored inputs, [N, ...], at least two.
      label: [N] integers.
      num_samples, seed, progress: as in `likelihoods.weight_means`.

    Returns:
      metrics: "log_likelihood" with "log_likelihood_error", its standard error over the points, and
        "bound", means in nats, of whitened inputs as in `bounds`; "recognition" and "bayes", the
        classification metrics of q(y|x) and of p(y|x), if the model has classes.
    """
    given = preprocessing(x).numpy()
    observed = importance.observed(model, given, seed).numpy()
    means = importance.weight_means(model, observed, num_samples, seed, progress=progress)
    log_p_x = special.logsumexp(means.log_joint, axis=1) + preprocessing.log_det
    bound = importance.marginal_bound(model, observed, means.bound) + preprocessing.log_det
    metrics = {
        "log_likelihood": float(log_p_x.mean()),
        "log_likelihood_error": float(stats.sem(log_p_x)),
        "bound": float(bound.mean()),
    }
    if not model.has_classes:
        return metrics
    q_y = class_probabilities(model, None, preprocessing, x)
    if np.array_equal(observed, given):
        p_y = special.softmax(means.log_joint, axis=1)
    else:
        p_y = importance.bayes_probabilities(model, given, num_samples, seed, progress=progress)
    metrics["recognition"] = classification_metrics(q_y, label)
    metrics["bayes"] = classification_metrics(p_y, label)
    return metrics


def estimate_likelihood(experiment, model, part, num_points, num_samples, seed=0, progress=iter):
    """Likelihood metrics of a trained model, with the settings of the estimate.

    Args:
      experiment: an `Experiment`.
      model: M1, M2 or StackedM1M2.
      part: "test" or "validation".
      num_points: how many points to score, drawn at random by `seed`; all if there are fewer.
      num_samples, seed, progress: as in `likelihoods.weight_means`.
    """
    parts = experiment.split
    x, label = {
        "validation": (parts.x_validation, parts.label_validation),
        "test": (parts.x_test, parts.label_test),
    }[part]
    expect(len(x) >= 2, f"the run must have at least two {part} points", points=len(x))
    # Data sets have an order: the first half of MNIST's test images is the easier one.
    rows = np.random.default_rng(seed).permutation(len(x))[:num_points]
    estimate = {"part": part, "points": len(rows), "samples": num_samples, "seed": seed}
    return estimate | likelihood_metrics(
        model, experiment.preprocessing, x[rows], label[rows], num_samples, seed, progress
    )


def evaluate_experiment(experiment, model, classifier):
    """Validation and test metrics of a trained model, as nested dictionaries."""

    def predict(x):
        return class_probabilities(model, classifier, experiment.preprocessing, x)

    return evaluate(experiment, predict, model)


def evaluate(experiment, predict, model=None):
    """Validation and test metrics of any classifier, as nested dictionaries.

    Args:
      experiment: an `Experiment`.
      predict: stored inputs [N, ...] -> [N, K] probabilities.
      model: M1, M2 or StackedM1M2, whose bounds are among the metrics; or None.
    """
    parts, num_classes = experiment.split, experiment.source.num_classes
    metrics = {
        "labels": {
            "training": len(parts.label),
            "model_selection": len(parts.label_validation),
        }
    }
    sets = {
        "validation": (parts.x_validation, parts.label_validation),
        "test": (parts.x_test, parts.label_test),
    }
    for name, (x, label) in sets.items():
        if not len(x):
            continue
        metrics[name] = classification_metrics(predict(x), label)
        if model is not None:
            terms = bounds(model, experiment.preprocessing, x, label, num_classes)
            metrics[name]["bounds"] = terms
    return metrics


def evaluate_selected(experiment, model, selected):
    """The metrics of the weights with the lowest validation error, and their epoch.

    The validation error among them is a minimum over the epochs, so it flatters.
    """
    chosen = model.without_optimizer()
    weights = getattr(chosen, "m2", chosen).trainable_variables
    for variable, value in zip(weights, selected.weights, strict=True):
        variable.assign(value)
    metrics = evaluate_experiment(experiment, chosen, None)
    del metrics["labels"]
    return {"epoch": selected.epoch, **metrics}
