"""Numbers to trust: error with a confidence interval, calibration, bounds and likelihoods."""

import numpy as np
from scipy import special, stats

from tfssl import classifiers
from tfssl.models import importance
from tfssl.data import batches


def class_probabilities(model, classifier, preprocessing, x, batch_size=1000):
    """[N, K] probabilities of the classes for stored inputs x [N, ...].

    Args:
      model: M1, M2 or StackedM1M2.
      classifier: a fitted classifier on M1's features, or None if the model classifies.
      preprocessing: stored inputs -> what the model sees.
      x: stored inputs.
      batch_size: rows at a time.
    """
    parts = [
        model.predict_on_batch(preprocessing(x[first : first + batch_size]))
        for first in range(0, len(x), batch_size)
    ]
    outputs = np.concatenate(parts)
    return outputs if classifier is None else classifiers.probabilities(classifier, outputs)


def classification_metrics(probabilities, label):
    """Error with its 95% Wilson interval, log-loss and calibration error.

    Args:
      probabilities: [N, K].
      label: [N] integers.
    """
    wrong = probabilities.argmax(axis=1) != label
    interval = stats.binomtest(int(wrong.sum()), len(wrong)).proportion_ci(method="wilson")
    chosen = probabilities[np.arange(len(label)), label]
    return {
        "error": float(wrong.mean()),
        "error_low": float(interval.low),
        "error_high": float(interval.high),
        "log_loss": float(-np.log(np.maximum(chosen, np.finfo(np.float32).tiny)).mean()),
        "calibration_error": calibration_error(probabilities, label),
        "examples": len(label),
    }


def calibration_error(probabilities, label, bins=15):
    """Expected calibration error: sum_b (n_b / N) |accuracy_b - confidence_b|.

    Args:
      probabilities: [N, K].
      label: [N] integers.
      bins: number of equal bins of the confidence max_y q(y|x).
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == label
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=right - confidence.astype(np.float64), minlength=bins)
    return float(np.abs(gaps).sum() / len(label))


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
    if not hasattr(model, "classify"):
        return metrics
    q_y = class_probabilities(model, None, preprocessing, x)
    if np.array_equal(observed, given):
        p_y = special.softmax(means.log_joint, axis=1)
    else:
        p_y = importance.bayes_probabilities(model, given, num_samples, seed, progress=progress)
    metrics["recognition"] = classification_metrics(q_y, label)
    metrics["bayes"] = classification_metrics(p_y, label)
    return metrics


def mean_and_interval(values):
    """Mean and half-width of its 95% t-interval over independent splits (0 for one split)."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return float(values.mean()), 0.0
    half_width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(half_width)
