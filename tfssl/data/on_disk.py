"""Rows of an array that stays on disk: read when they are asked for, a batch at a time."""

import numpy as np

# Rows at a time where a copy of everything might not fit.
CHUNK = 2000


class Rows:
    """Some rows of a memory-mapped array, in any order, as if they were an array of their own.

    `rows[first:last]` and `rows[numbers]` read just these; NumPy reads them all where it needs an
    array.

    Args:
      array: [N, ...] array on disk.
      numbers: [M] row numbers.
    """

    def __init__(self, array, numbers):
        self.array = array
        self.numbers = np.asarray(numbers, np.int64)

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return np.array(self.array[self.numbers[index]])

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype)

    @property
    def shape(self):
        return (len(self), *self.array.shape[1:])

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return self.array.ndim


def chunks(x):
    """The rows of x in order, arrays of `CHUNK` rows, the last one of what is left."""
    return (np.asarray(x[first : first + CHUNK]) for first in range(0, len(x), CHUNK))


def take(x, numbers):
    """The rows of x with these numbers: copied from memory, or left on disk."""
    return Rows(x, numbers) if isinstance(x, np.memmap) else x[numbers]


def joined(first, second):
    """The rows of both; of two `Rows`, which must be of one array, they stay on disk."""
    if isinstance(first, Rows):
        return Rows(first.array, np.concatenate([first.numbers, second.numbers]))
    return np.concatenate([first, second])
