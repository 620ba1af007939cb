"""Whether the columns of an array are the pixels of images, if nobody says so."""

import math

import numpy as np

# Fewer columns are no image.
FEWEST = 36
# Up to here, levels are counted: those of the 8 x 8 digits are 0 to 16.
FEW_LEVELS = 32
# Rows that are looked at, and pairs of columns.
ROWS, PAIRS = 500, 2000
# Neighbouring pixels go together, those anywhere less so.
TOGETHER, APART = 0.25, 0.15


def levels_of(x):
    """Grey levels above black if x [N, D] looks like pixels, row by row, else None.

    Pixels are whole numbers from 0 to 255, or numbers from 0 to 1 (a level of 1), and every one
    resembles the one beside it more than it does others. Bits and bags of words do not.
    """
    x = np.asarray(x)[:ROWS]
    if x.ndim != 2 or x.shape[1] < FEWEST or not np.isfinite(x).all() or x.min() < 0:
        return None
    top = float(x.max())
    whole = bool((np.round(x) == x).all())
    grey = top > 1 and top <= 255 and whole
    if not grey and (top > 1 or not np.mean((x > 0) & (x < 1)) > 0.05):
        return None
    rng = np.random.default_rng(0)
    first = rng.integers(0, x.shape[1] - 1, PAIRS)
    anywhere = rng.integers(0, x.shape[1], PAIRS)
    beside = resemblance(x, first, first + 1)
    if beside < TOGETHER or beside < resemblance(x, first, anywhere) + APART:
        return None
    if not grey:
        return 1
    # The points to come may hold a level more than these.
    return 255 if top > FEW_LEVELS else 2 ** math.ceil(math.log2(top))


def resemblance(x, first, second):
    """Mean correlation of the columns `first` with the columns `second`, without constant ones."""
    x = np.asarray(x, np.float64)
    deviation = x.std(axis=0)
    varies = (deviation[first] > 0) & (deviation[second] > 0)
    if not varies.any():
        return 0.0
    standard = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    products = (standard[:, first[varies]] * standard[:, second[varies]]).mean(axis=0)
    return float(products.mean())
