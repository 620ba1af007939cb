"""What the models are compared with: other classifiers on the same splits, behind one door."""

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
    from tfssl.classifiers import cae, cnn, shallow

    if name == "cnn":
        classify = cnn.fit(experiment, verbose)
    elif name == "cae":
        classify = cae.fit(experiment, verbose, cache)
    else:
        classify = shallow.fit(name, experiment)

    def predict(x):
        """[N, K] probabilities of the classes for stored inputs x [N, ...], chunk by chunk."""
        experiment.preprocessing.check(x, "the input")
        chunks = [classify(x[first : first + CHUNK]) for first in range(0, len(x), CHUNK)]
        return np.concatenate([np.empty((0, experiment.source.num_classes)), *chunks])

    return predict
