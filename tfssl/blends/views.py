"""What candidates see of x: maps that are fitted without labels.

plain       x as preprocessing gives it: standardised columns, or intensities of pixels
scaled      skewed columns on a log scale, rare 0/1 columns not blown up, nothing beyond +-6
columns     the same, but columns of two values as 0 and 1
components  the principal components of `scaled` in their proportions, at most 50
latents     E[z|x] of an M1, those in use; only of pixels
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tfssl.data.batches import in_batches
from tfssl.errors import expect

NAMES = ("plain", "scaled", "columns", "components", "latents")
ARRAYS = ("low", "unit", "shift", "scale", "zero", "one", "axes")
# Columns without negative numbers whose third standardised moment is larger go on a log scale.
SKEWED = 2.0
# Of a 0/1 column with fewer ones than 10 % the deviation counts as this much: standardised, a one
# among 500 zeros would be 22 deviations away.
RARE = 0.3
# Where more than this share of most columns is the same value, as in texts, all columns keep their
# proportions: the deviation of a rare one says how rare it is, not in which units it comes.
SPARSE = 0.8
FARTHEST = 6.0
MOST_COMPONENTS, VARIANCE = 50, 0.99
# The standard deviation of the first component.
LARGEST = 2.0
# Rows that are enough to find the components by.
ROWS = 5000


@dataclass(frozen=True)
class Views:
    """x [N, D] -> a view of it, [N, D] or [N, C].

    Attributes:
      low: [D], what a column on a log scale starts at; NaN for the others.
      unit: [D], what it is measured in from there.
      shift, scale: [D], of the columns after that.
      zero, one: [D], the two values of columns that have no other; NaN for the others.
      axes: [D, C] principal axes of the scaled columns.
      m1: a trained M1, or None.
      active: its latents that are in use, [L] integers.
    """

    low: npt.NDArray[np.float32]
    unit: npt.NDArray[np.float32]
    shift: npt.NDArray[np.float32]
    scale: npt.NDArray[np.float32]
    zero: npt.NDArray[np.float32]
    one: npt.NDArray[np.float32]
    axes: npt.NDArray[np.float32]
    m1: Any = None
    active: npt.NDArray[np.int64] | None = None

    def with_m1(self, m1, active):
        """The same with the latents of an M1."""
        return replace(self, m1=m1, active=active)

    @property
    def binary_columns(self):
        """Which columns have two values and no other."""
        return np.flatnonzero(~np.isnan(self.zero)).tolist()

    def arrays(self):
        """What `from_arrays` needs besides M1, as arrays for an .npz file."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return arrays if self.m1 is None else arrays | {"active": self.active}

    @classmethod
    def from_arrays(cls, arrays, m1=None):
        """The inverse of `arrays`."""
        names = (*ARRAYS, *(() if m1 is None else ("active",)))
        found = {name: arrays[name] for name in names}
        columns = len(found["low"])
        good = all(found[name].shape == (columns,) for name in ARRAYS if name != "axes")
        good &= found["axes"].ndim == 2 and len(found["axes"]) == columns
        good &= m1 is None or bool(np.isin(found["active"], range(m1.latent_dim)).all())
        expect(good, "views must have a number for every column, and latents that there are")
        return cls(**found, m1=m1)

    @classmethod
    def fit(cls, x, pixels=False):
        """Choose the maps for x [N, D].

        Args:
          x: training inputs as preprocessing gives them.
          pixels: whether the columns share their unit, as those of images do.
        """
        x = np.asarray(x, np.float64)
        mean, deviation = x.mean(axis=0), x.std(axis=0)
        low, width = x.min(axis=0), np.ptp(x, axis=0)
        binary = ((x == low) | (x == low + width)).all(axis=0)
        standard = (x - mean) / np.where(deviation > 0, deviation, 1.0)
        skewed = ~binary & ((standard**3).mean(axis=0) > SKEWED) & (not pixels)
        sparse = ~binary & ((x == low).mean(axis=0) > SPARSE)
        together = pixels or sparse.mean() > 0.5
        skewed &= not together
        unit = np.where(skewed, np.maximum(mean - low, np.finfo(np.float32).tiny), 1.0)
        start = np.where(skewed, low, np.nan)
        y = _logs(x, start, unit)
        shift, scale = y.mean(axis=0), y.std(axis=0)
        if together:
            scale = np.full(len(scale), np.sqrt(np.mean(scale**2)))
        else:
            # In units of the column's own two values.
            scale = np.where(binary, np.maximum(scale, RARE * width), scale)
        scale = np.where(scale > 0, scale, 1.0)
        zero, one = np.where(binary & (width > 0), (low, low + width), np.nan)
        found = dict(zip(ARRAYS, (start, unit, shift, scale, zero, one), strict=False))
        found["axes"] = np.zeros((len(low), 0))
        arrays: dict[str, Any] = {n: np.asarray(a, np.float32) for n, a in found.items()}
        views = cls(**arrays)
        return replace(views, axes=_axes(views("scaled", x)))

    def __call__(self, name, x):
        """The view `name` of x [N, D]; a tensor for a tensor, an array for an array."""
        if isinstance(x, tf.Tensor):
            return self._tensor(name, tf.cast(x, tf.float32))
        if name == "plain":
            return np.asarray(x, np.float32)
        return in_batches(lambda rows: self._tensor(name, tf.constant(rows, tf.float32)), x)

    def _tensor(self, name, x):
        if name == "plain":
            return x
        if name == "latents":
            return tf.gather(self.m1.latents(x), self.active, axis=-1)
        logged = tf.math.log1p(tf.nn.relu(x - np.nan_to_num(self.low)) / self.unit)
        y = tf.where(np.isnan(self.low), x, logged)
        y = tf.clip_by_value((y - self.shift) / self.scale, -FARTHEST, FARTHEST)
        if name == "columns":
            real, zero = np.isnan(self.zero), np.nan_to_num(self.zero)
            width = np.where(real, 1.0, self.one - self.zero).astype(np.float32)
            return tf.where(real, y, tf.clip_by_value((x - zero) / width, 0.0, 1.0))
        return y if name == "scaled" else tf.matmul(y, self.axes)


def _logs(x, low, unit):
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(low), x, np.log1p(np.maximum(x - low, 0.0) / unit))


def _axes(x):
    """Principal axes of x [N, D], at most `MOST_COMPONENTS` and `VARIANCE` of the variance."""
    x = np.asarray(x[:ROWS], np.float64)
    x = x - x.mean(axis=0)
    # The eigenvectors of the smaller of x^T x and x x^T give the same axes.
    wide = x.shape[1] > len(x)
    values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    share = np.cumsum(values) / max(float(values.sum()), np.finfo(np.float64).tiny)
    count = min(int(np.searchsorted(share, VARIANCE)) + 1, MOST_COMPONENTS, len(values))
    axes = vectors[:, :count]
    if wide:
        axes = x.T @ axes / np.sqrt(np.maximum(values[:count], np.finfo(np.float64).tiny))
    # Networks begin more easily with numbers near one.
    largest = math.sqrt(values[0] / len(x)) if values[0] > 0 else 1.0
    return np.asarray(axes * (LARGEST / largest), np.float32)
