"""What more labels would bring: the error against the number of labels, by held-out labels.

The members of the answer that are quick are fitted to half of the labels and to four fifths, and a
power law e(n) = c n^-g is laid through the two errors, 0 <= g <= 1. Both are noisy, and so is what
follows: the interval is that of the same reckoning on labels drawn again with replacement.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from tfssl.choice.evidence import out_of_fold

MORE = 50
REPEATS = 3
DRAWS = 1000
FASTEST_GAIN = 1.0


@dataclass(frozen=True)
class Growth:
    """Errors, as shares of 1.

    Attributes:
      labels: how many there are.
      more: how many more.
      error: with the present ones.
      expected: with the further ones.
      low, high: 90 % interval of `expected`.
    """

    labels: int
    more: int
    error: float
    expected: float
    low: float
    high: float

    def __str__(self):
        return (
            f"{self.more} more labels: about {100 * self.expected:.1f} % instead of "
            f"{100 * self.error:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f} %)."
        )


def growth(candidates, pool, more=MORE):
    """The `Growth` of the mean of some candidates; None with fewer than four labels of a class."""
    label = pool.label
    if not candidates or np.bincount(label).min() < 4:
        return None
    wrong = {}
    for folds in (2, 5):
        means = []
        for repeat in range(REPEATS):
            count = min(folds, int(np.bincount(label).min()))
            splitter = StratifiedKFold(count, shuffle=True, random_state=pool.seed + repeat)
            parts = list(splitter.split(label, label))
            outputs = [out_of_fold(candidate, pool, parts) for candidate in candidates]
            means.append(np.mean(outputs, axis=0).argmax(axis=1) != label)
        wrong[len(label) * (count - 1) / count] = np.mean(means, axis=0)
    few, many = wrong
    n = len(label)
    expected = power_law(few, wrong[few].mean(), many, wrong[many].mean(), n)
    rng = np.random.default_rng(pool.seed)
    drawn = []
    for rows in rng.integers(0, n, (DRAWS, n)):
        law = power_law(few, wrong[few][rows].mean(), many, wrong[many][rows].mean(), n)
        drawn.append(law(n + more))
    low, high = np.quantile(drawn, (0.05, 0.95))
    return Growth(n, more, expected(n), expected(n + more), float(low), float(high))


def power_law(few, error_few, many, error_many, count):
    """The function e(n) = c n^-g through two errors; one more error and one more right each.

    Args:
      few, many: numbers of labels.
      error_few, error_many: the errors with these.
      count: of points that were judged.
    """
    first, second = ((e * count + 1.0) / (count + 2.0) for e in (error_few, error_many))
    gain = np.clip(np.log(first / second) / np.log(many / few), 0.0, FASTEST_GAIN)
    return lambda n: float(second * (n / many) ** -gain)
