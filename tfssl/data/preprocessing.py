"""From stored inputs to what a model sees, and back: flatten, shift and scale.

Images become intensities in [0, 1]; other features are standardised for a Gaussian likelihood.
The same object serves numpy arrays, tf.data and exported graphs, and is saved with the run.
"""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tfssl.errors import expect


@dataclass(frozen=True)
class Preprocessing:
    """x -> (flat(x) - shift) / scale, float32 [N, D].

    Attributes:
      shape: the shape of one stored input.
      shift, scale: [D] arrays.
      levels: grey levels above black of image data, else None.
      likelihood: what the model takes the result to be, for `check`.
    """

    shape: tuple[int, ...]
    shift: np.ndarray
    scale: np.ndarray
    levels: int | None
    likelihood: str

    @classmethod
    def fit(cls, x, levels, likelihood):
        """Choose shift and scale; `x` are training inputs, and only they are looked at.

        Args:
          x: [N, ...] training inputs.
          levels: grey levels above black of image data, else None.
          likelihood: the model's p(x|...).
        """
        shape, dim = x.shape[1:], int(np.prod(x.shape[1:]))
        shift, scale = np.zeros(dim, np.float32), np.ones(dim, np.float32)
        if levels is not None:
            scale *= levels
        elif likelihood == "gaussian":
            flat = x.reshape(len(x), dim).astype(np.float64)
            shift = flat.mean(axis=0).astype(np.float32)
            deviation = flat.std(axis=0)
            # A constant feature carries nothing: it becomes 0 rather than a division by 0.
            scale = np.where(deviation > 0, deviation, 1.0).astype(np.float32)
        return cls(shape, shift, scale, levels, likelihood)

    @property
    def dim(self):
        return len(self.shift)

    @property
    def total_count(self):
        """n of a binomial likelihood: 255 for uint8 images, 1 for features already in {0, 1}."""
        return self.levels or 1

    def __call__(self, x):
        """[N, ...] tensor -> [N, D] float32 tensor."""
        return (tf.reshape(tf.cast(x, tf.float32), [-1, self.dim]) - self.shift) / self.scale

    def inverse(self, x):
        """What a model sees -> stored inputs (not rounded), [N, *shape]."""
        return tf.reshape(x * self.scale + self.shift, [-1, *self.shape])

    def check(self, x, where):
        """Fail unless `x` can be stored inputs: shape, finite, in the range of the likelihood."""
        expect(
            x.shape[1:] == self.shape and x.ndim == len(self.shape) + 1,
            f"{where}: inputs must have the shape [N, {', '.join(map(str, self.shape))}]",
            shape=x.shape,
        )
        expect(x.dtype.kind in "fiub", f"{where}: inputs must be numbers", dtype=str(x.dtype))
        expect(
            x.dtype.kind != "f" or bool(np.isfinite(x).all()),
            f"{where}: inputs must be finite",
        )
        if self.likelihood == "gaussian" or not x.size:
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
        return {
            "shape": np.array(self.shape, np.int64),
            "shift": self.shift,
            "scale": self.scale,
            "levels": np.array(self.levels or 0),
            "likelihood": np.array(self.likelihood),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """The inverse of `arrays`."""
        return cls(
            shape=tuple(int(n) for n in arrays["shape"]),
            shift=arrays["shift"],
            scale=arrays["scale"],
            levels=int(arrays["levels"]) or None,
            likelihood=str(arrays["likelihood"]),
        )
