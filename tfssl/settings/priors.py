"""What "labelled" means, wherever a prior over the classes can be set to it."""

import numpy as np


def labelled_prior(label, num_classes):
    """The shares of the classes among the labels, (n_k + 1) / (n + K): [K].

    One more of each than there are: a few labels do not tell a rare class from an absent one. They
    say how common the classes are only if points were labelled as they came, at random: of labels
    that were drawn in equal numbers, the shares are equal whatever the data are.

    Args:
      label: [n] integers in {0, ..., K - 1}.
      num_classes: K.
    """
    counts = np.bincount(label, minlength=num_classes) + 1
    return counts / counts.sum()
