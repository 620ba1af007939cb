"""From stored inputs to what a model sees, and back: average, flatten, shift, scale, components.

Images become intensities in [0, 1], averaged over blocks of pixels if asked for; other features are
standardised for a Gaussian likelihood, and for that of columns all but those of 0 and 1. Images and
what is standardised can then become their principal components. The same object serves numpy
arrays, tf.data and exported graphs, and is saved with the run.
"""

from dataclasses import dataclass, replace

import numpy as np
import tensorflow as tf

from tfssl.data.components import Components
from tfssl.data.on_disk import chunks
from tfssl.errors import expect
from tfssl.settings.kinds import COLUMNS, UNBOUNDED


@dataclass(frozen=True)
class Preprocessing:
    """x -> (flat(x) - shift) / scale, float32 [N, D]; with averages before and components after.

    Attributes:
      shape: the shape of one stored input.
      shift, scale: [P] arrays, P the size of an input after averaging.
      levels: grey levels above black of image data, else None.
      likelihood: what the model takes the result to be, for `check`.
      downsample: the side of the blocks of pixels that are averaged.
      components: what the scaled inputs become, or None; D = P without them.
      binary_columns: of the likelihood "columns", those that held 0 and 1 in training and nothing
        else. Another value counts as the nearer end of [0, 1]: one that training did not meet must
        not keep a row from getting a class.
    """

    shape: tuple[int, ...]
    shift: np.ndarray
    scale: np.ndarray
    levels: int | None
    likelihood: str
    downsample: int = 1
    components: Components | None = None
    binary_columns: tuple[int, ...] = ()

    @classmethod
    def fit(cls, x, levels, likelihood, components=None, downsample=1):
        """Choose shift, scale and components; `x` are training inputs, and only they are looked at.

        Args:
          x: [N, ...] training inputs, an array or `Rows`.
          levels: grey levels above black of image data, else None.
          likelihood: the model's p(x|...).
          components: how many principal components to keep, an integer, or which share of the
            variance, a float below 1; None to do without.
          downsample: the side of the blocks of pixels to average.
        """
        shape = x.shape[1:]
        expect(
            downsample == 1
            or (len(shape) in (2, 3) and shape[0] % downsample == shape[1] % downsample == 0),
            "data.downsample must divide the height and the width of images",
            downsample=downsample,
            shape=shape,
        )
        expect(
            downsample == 1 or likelihood != "binomial",
            'data.downsample gives averages, not counts: likelihood must not be "binomial"',
        )
        expect(
            components is None or likelihood in UNBOUNDED,
            'data.whitening needs likelihood = "gaussian" or "isotropic"',
            likelihood=likelihood,
        )
        expect(
            likelihood != COLUMNS or levels is None,
            'likelihood = "columns" is for features, not for images or counts',
            levels=levels,
        )
        dim = int(np.prod(shape)) // downsample**2
        scale = np.full(dim, levels or 1.0)
        plain = cls(shape, np.zeros(dim), scale, levels, likelihood, downsample)
        if levels is None and likelihood in (*UNBOUNDED, COLUMNS):
            plain = plain._standardised(x)
        if likelihood == COLUMNS:
            plain = plain._without_binary(x)
        if components is None:
            return plain
        centre = next(plain._chunks(x)).mean(axis=0)
        # One scale for all of x tells what is large from what is small: it must stay so.
        scaling = "all" if likelihood == "isotropic" else "each"
        found = Components.fit(plain._chunks(x), centre, components, scaling)
        return replace(plain, components=found)

    def _standardised(self, x):
        """The same with zero mean and unit variance of every feature of x."""
        mean = sum(values.sum(axis=0) for values in self._chunks(x)) / len(x)
        variance = sum(((values - mean) ** 2).sum(axis=0) for values in self._chunks(x)) / len(x)
        # A constant feature carries nothing: it becomes 0 rather than a division by 0. Its
        # deviation need not be 0 exactly, because the mean is rounded.
        low = np.minimum.reduce([values.min(axis=0) for values in self._chunks(x)])
        high = np.maximum.reduce([values.max(axis=0) for values in self._chunks(x)])
        deviation = np.where(high > low, np.sqrt(variance), 1.0)
        return replace(self, shift=mean, scale=deviation)

    def _without_binary(self, x):
        """The same with the columns of x that hold 0 and 1, both, as they are."""
        binary = np.array(self.scale != 1.0)  # a constant column was left as it is
        for rows in chunks(x):
            binary &= np.isin(rows.reshape(len(rows), -1), (0, 1)).all(axis=0)
        shift, scale = np.where(binary, 0.0, self.shift), np.where(binary, 1.0, self.scale)
        columns = tuple(int(c) for c in np.flatnonzero(binary))
        return replace(self, shift=shift, scale=scale, binary_columns=columns)

    def _chunks(self, x):
        """The scaled inputs, float64 [n, P] at a time."""
        return (self.scaled(rows, np.float64).numpy() for rows in chunks(x))

    @property
    def dim(self):
        """D, the size of what the model sees."""
        return len(self.shift) if self.components is None else self.components.dim

    @property
    def image_shape(self):
        """The shape of one input as `inverse` gives it: the sides of images are downsampled."""
        if self.downsample == 1:
            return self.shape
        height, width, *channels = self.shape
        return (height // self.downsample, width // self.downsample, *channels)

    @property
    def log_det(self):
        """log |det d(model input) / d(scaled input)|, 0 without components.

        log p(scaled input) = log p(model input) + log_det. The scaled inputs are intensities in
        [0, 1], or standardised features. If some components were dropped, these are densities over
        the subspace that is kept.
        """
        return 0.0 if self.components is None else self.components.log_det

    @property
    def total_count(self):
        """n of a binomial likelihood: 255 for uint8 images, 1 for features already in {0, 1}."""
        return self.levels or 1

    def __call__(self, x):
        """[N, ...] tensor -> [N, D] float32 tensor."""
        x = tf.convert_to_tensor(x)
        # Numbers far from 0 are centred before float32 rounds their differences away.
        exact = np.promote_types(x.dtype.as_numpy_dtype, np.float32)
        scaled = tf.cast(self.scaled(x, exact), tf.float32)
        return scaled if self.components is None else self.components(scaled)

    def scaled(self, x, dtype):
        """[N, ...] -> [N, P] of a floating `dtype`: everything but the components."""
        x = tf.cast(x, dtype)
        if self.downsample > 1:
            height, width, *channels = self.image_shape
            blocks = [-1, height, self.downsample, width, self.downsample, *channels]
            x = tf.reduce_mean(tf.reshape(x, blocks), axis=(2, 4))
        shift, scale = self.shift.astype(dtype), self.scale.astype(dtype)
        x = (tf.reshape(x, [-1, len(shift)]) - shift) / scale
        if not self.binary_columns:
            return x
        binary = np.isin(np.arange(len(shift)), self.binary_columns)
        return tf.where(binary, tf.clip_by_value(x, 0.0, 1.0), x)

    def inverse(self, x):
        """What a model sees -> stored inputs (not rounded), [N, *image_shape].

        Where some components were dropped, the input in the kept subspace.
        """
        x = tf.cast(x, tf.float32)
        x = x if self.components is None else self.components.inverse(x)
        shift, scale = self.shift.astype(np.float32), self.scale.astype(np.float32)
        return tf.reshape(x * scale + shift, [-1, *self.image_shape])

    def intensities(self, x):
        """What a model of images sees -> intensities [N, height, width, channels] in [0, 1]."""
        images = self.inverse(x).numpy() / self.total_count
        images = images[..., np.newaxis] if images.ndim == 3 else images
        return np.clip(images, 0.0, 1.0)

    def check(self, x, where):
        """Fail unless `x` can be stored inputs: shape, finite, in the range of the likelihood."""
        expect(
            x.shape[1:] == self.shape and x.ndim == len(self.shape) + 1,
            f"{where}: inputs must have the shape [N, {', '.join(map(str, self.shape))}]",
            shape=x.shape,
        )
        expect(x.dtype.kind in "fiub", f"{where}: inputs must be numbers", dtype=str(x.dtype))
        for rows in chunks(x):
            self._check_values(rows, where)

    def _check_values(self, x, where):
        largest = np.finfo(np.float32).max
        expect(
            x.dtype.kind != "f" or bool((np.abs(x) <= largest).all()),
            f"{where}: inputs must be finite and not too large for float32",
        )
        if self.likelihood in (*UNBOUNDED, COLUMNS) or not x.size:
            return
        top = self.levels or 1
        low, high = float(x.min()), float(x.max())
        expect(
            low >= 0 and high <= top,
            f"{where}: inputs must lie in [0, {top}] for a {self.likelihood} likelihood",
            hint='Rescale them, or use likelihood = "gaussian".',
            smallest=low,
            largest=high,
        )
        expect(
            self.likelihood != "binomial" or bool((x == np.round(x)).all()),
            f"{where}: inputs must be whole numbers for a binomial likelihood",
            hint='Use likelihood = "bernoulli" or "gaussian".',
        )

    def arrays(self):
        """What `from_arrays` needs, as arrays for an .npz file."""
        arrays = {
            "shape": np.array(self.shape, np.int64),
            "shift": self.shift,
            "scale": self.scale,
            "levels": np.array(self.levels or 0),
            "likelihood": np.array(self.likelihood),
            "downsample": np.array(self.downsample),
        }
        if self.binary_columns:
            arrays["binary_columns"] = np.array(self.binary_columns)
        return arrays if self.components is None else arrays | vars(self.components)

    @classmethod
    def from_arrays(cls, arrays):
        """The inverse of `arrays`; runs from before downsampling and components lack those."""
        components = None
        if "axes" in arrays:
            components = Components(arrays["mean"], arrays["axes"], arrays["deviations"])
        return cls(
            shape=tuple(int(n) for n in arrays["shape"]),
            shift=arrays["shift"],
            scale=arrays["scale"],
            levels=int(arrays["levels"]) or None,
            likelihood=str(arrays["likelihood"]),
            downsample=int(arrays["downsample"]) if "downsample" in arrays else 1,
            components=components,
            binary_columns=tuple(int(c) for c in arrays.get("binary_columns", ())),
        )
