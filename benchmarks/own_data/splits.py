"""What of a set is trained on, with which labels, and what tests: the same for every method."""

import zlib
from dataclasses import dataclass

import numpy as np

from benchmarks.own_data.sets import NUMBER
from tfssl.errors import expect

TEST_SHARE = 0.3
MAX_TEST, MAX_TRAIN = 3_000, 2_000
KEPT_UNLABELLED = 0.2  # of a class with fewer rows than were asked for
NO_LABEL = -1


@dataclass(frozen=True)
class Split:
    """Rows of a set.

    Attributes:
      train: [N] rows, in random order.
      y: [N] their labels, -1 where it is hidden.
      test: [M] rows.
    """

    train: np.ndarray
    y: np.ndarray
    test: np.ndarray


def split(name, y, labels, number):
    """Split `number` of a set: 30 % test rows of each class, and `labels` of every class.

    All numbers of labels share the rows, and what has a label with few keeps it with more.

    Args:
      name: of the set; it is part of the seed.
      y: [n] integers from 0, the classes of all rows.
      labels: how many rows of every class have a label; of a class with too few, all but a fifth.
      number: which split.
    """
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    test: list[int] = []
    rest: list[int] = []
    for k in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == k))
        held_out = round(TEST_SHARE * len(rows))
        test += rows[:held_out].tolist()
        rest += rows[held_out:].tolist()
    train = rng.permutation(rest)[:MAX_TRAIN]
    shown = np.full(len(train), NO_LABEL, np.int64)
    for k in np.unique(y):
        places = np.flatnonzero(y[train] == k)
        most = len(places) - max(1, round(KEPT_UNLABELLED * len(places)))
        expect(most >= 1, f"{name}: every class must have two training rows", rows=len(places))
        shown[places[: min(labels, most)]] = k
    return Split(train, shown, rng.permutation(test)[:MAX_TEST])


def encode(x, kinds, train):
    """A mixed table as numbers, [n, D], shaped by its training rows alone.

    A number that is missing is the column's mean, and a further column says so, if any of the
    training rows lacks it; a category is a column for each of the values that training rows have.

    Args:
      x: [n, d] strings; "" is a missing value.
      kinds: [d], "num" or "cat".
      train: rows.
    """
    columns = []
    for cells, kind in zip(x.T, kinds, strict=True):
        missing = cells == ""
        if kind != NUMBER:
            columns += [cells == value for value in np.unique(cells[train]) if value]
            continue
        values = np.where(missing, "nan", cells).astype(np.float64)
        columns.append(np.where(missing, np.nanmean(values[train]), values))
        columns += [missing] if missing[train].any() else []
    return np.stack(columns, axis=1).astype(np.float64)
