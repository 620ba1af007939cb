"""A model over many inputs, a batch at a time."""

import numpy as np

from tfssl import classifiers


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
