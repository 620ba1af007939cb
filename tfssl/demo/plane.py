"""The plane of the style space that the page's pad shows."""

import numpy as np
import tensorflow as tf

from tfssl.pictures import of_model

NUM_STYLES = 100


def style_axes(model):
    """Two orthonormal directions of z that change what the model generates most: [2, L].

    Styles are drawn from the prior, each in a class, the classes in turns; E[x|y,z] is compared one
    standard deviation before and behind z along every axis. The directions are the leading
    eigenvectors of the mean of J^T J, J [D, L] the differences. Two dimensions are shown as they
    are, as in the paper's figure 1a; of one the second axis does nothing.

    Args:
      model: M1, M2 or StackedM1M2.
    """
    dim = model.style_dim
    if dim <= 2:
        return np.eye(2, dim)
    styles = of_model.prior_styles(model, NUM_STYLES)[:, np.newaxis]
    steps = np.eye(dim, dtype=np.float32)
    slopes = (_generate(model, styles + steps) - _generate(model, styles - steps)) / 2
    _, vectors = np.linalg.eigh(np.einsum("nid,njd->ij", slopes, slopes) / NUM_STYLES)
    axes = vectors[:, :-3:-1].T
    # An eigenvector's sign is arbitrary: the same at every call.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, np.newaxis], axis=1)
    return axes * np.sign(largest)


def _generate(model, z):
    """E[x|y,z], [N, L, D], of z [N, L, L]; style n is of class n modulo K."""
    if not model.has_classes:
        return model.generate(tf.constant(z)).numpy()
    y = tf.range(len(z), dtype=tf.int32) % model.num_classes
    return model.generate(y[:, tf.newaxis], tf.constant(z)).numpy()
