"""PCA: onto the principal axes of the training inputs, scaled to unit variance each or in all."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tfssl.errors import expect

# Projections have the rounding errors of float32, about 1e-6 of the largest standard deviation, so
# a direction whose variance is smaller than this share of the largest would be noise.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Components:
    """x [N, P] -> V^T (x - mean) / s, [N, D], with a diagonal covariance over the training inputs.

    Scaled each, the components are white: the covariance is I. Scaled all alike, they keep their
    proportions, and their mean variance is 1.

    Attributes:
      mean: [P].
      axes: V, [P, D], its columns orthonormal: the principal axes that are kept.
      deviations: s, [D]: the standard deviations along them, largest first, or what all are
        divided by.
    """

    mean: np.ndarray
    axes: np.ndarray
    deviations: np.ndarray

    @classmethod
    def fit(cls, chunks, centre, keep, scaling="each"):
        """Find the axes in one pass over the training inputs.

        Args:
          chunks: float64 arrays [n, P], together the training inputs.
          centre: [P], about their mean; the nearer it is, the smaller are rounding errors.
          keep: how many components, an integer, or which share of the variance, a float below 1.
          scaling: "each" to give every component unit variance, "all" to divide all by one number.
        """
        count, total, moment = 0, np.zeros_like(centre), np.zeros((len(centre), len(centre)))
        for x in chunks:
            x = x - centre
            count += len(x)
            total += x.sum(axis=0)
            moment += x.T @ x
        offset = total / count
        variances, axes = np.linalg.eigh(moment / count - np.outer(offset, offset))
        variances, axes = variances[::-1], axes[:, ::-1]
        kept = _num_components(variances, keep)
        variances = variances[:kept]
        if scaling == "all":
            variances = np.full(kept, variances.mean())
        return cls(
            (centre + offset).astype(np.float32),
            np.ascontiguousarray(axes[:, :kept], np.float32),
            np.sqrt(variances).astype(np.float32),
        )

    @property
    def dim(self):
        """D."""
        return len(self.deviations)

    @property
    def log_det(self):
        """log |det d(result) / dx|: log p(x) = log p(result) + log_det.

        If components were dropped, these are densities over the subspace that is kept.
        """
        return -float(np.log(self.deviations.astype(np.float64)).sum())

    def __call__(self, x):
        """[N, P] -> [N, D], float32 tensors."""
        return tf.matmul(x - self.mean, self.axes) / self.deviations

    def inverse(self, x):
        """[N, D] -> [N, P], with the mean along the axes that were dropped."""
        return tf.matmul(x * self.deviations, self.axes, transpose_b=True) + self.mean


def _num_components(variances, keep):
    """How many of the components with these variances, [P] in descending order, are kept."""
    variances = np.maximum(variances, 0.0)
    directions = int(np.sum(variances > ROUNDING * variances[0]))
    if isinstance(keep, float):
        explained = np.cumsum(variances)
        keep = int(np.searchsorted(explained, keep * explained[-1])) + 1
    expect(
        keep <= directions,
        "data.whitening must keep no more components than there are directions in which the "
        "training inputs vary",
        components=keep,
        directions=directions,
    )
    return keep
