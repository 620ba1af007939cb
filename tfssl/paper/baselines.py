"""What the models are compared with: other classifiers on the same splits, behind one door.

The classifiers know arrays alone; what an `Experiment` is, only this file knows.
"""

import warnings

import numpy as np

from tfssl.errors import expect

NAMES = {
    "knn": "1-NN",
    "svm": "SVM",
    "cnn": "CNN",
    "tsvm": "TSVM",
    "cae": "CAE",
    "label_spreading": "LabelSpreading",
    "self_training": "SelfTraining",
}
CHUNK = 1000


def check_name(name):
    """Fail unless there is such a baseline."""
    expect(name in NAMES, f"the baseline must be one of {', '.join(NAMES)}", name=name)


def fit(name, experiment, verbose=False, cache=None):
    """Fit a baseline and return `predict`: stored inputs [N, ...] -> [N, K] probabilities.

    Args:
      name: one of `NAMES`.
      experiment: an `Experiment`; its training points and seed are used, nothing else of its split.
      verbose: whether to show the progress of a network.
      cache: folder where the pretrained encoder of "cae" is kept for the next fit, or None.
    """
    check_name(name)
    from tfssl.classifiers import fit_classifier, is_transductive, probabilities

    parts, preprocessing = experiment.split, experiment.preprocessing

    def seen(x):
        """What the classifier is given of stored inputs: the CNN sees images as they are."""
        return np.asarray(x) if name == "cnn" else preprocessing(x).numpy()

    classifier = _make_classifier(name, experiment, verbose, cache)
    unlabelled = seen(parts.x_unlabelled) if is_transductive(classifier) else None
    with warnings.catch_warnings():
        # Self-training may have no points to teach itself with: it is then what it starts from.
        warnings.filterwarnings("ignore", "y contains no")
        fit_classifier(classifier, seen(parts.x_labelled), parts.label, unlabelled)

    def predict(x):
        """[N, K] probabilities of the classes for stored inputs x [N, ...], chunk by chunk."""
        preprocessing.check(x, "the input")
        chunks = (seen(x[first : first + CHUNK]) for first in range(0, len(x), CHUNK))
        found = [probabilities(classifier, chunk) for chunk in chunks]
        return np.concatenate([np.empty((0, experiment.source.num_classes)), *found])

    return predict


def _make_classifier(name, experiment, verbose, cache):
    """An unfitted one, with the seed of the experiment."""
    from tfssl.classifiers import cae, cnn, shallow

    seed, parts = experiment.settings.seed, experiment.split
    if name == "cnn":
        return cnn.ConvolutionalClassifier(random_state=seed, verbose=verbose)
    if name == "cae":
        return cae.ContractiveClassifier(cache=cache, random_state=seed, verbose=verbose)
    shape = (len(parts.label) + len(parts.x_unlabelled), experiment.preprocessing.dim)
    return shallow.make_classifier(name, seed, shape)
