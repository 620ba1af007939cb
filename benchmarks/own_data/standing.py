"""Who stands where: means, ranks and paired differences over the sets of one half.

Ranks and the critical difference as in Demsar, "Statistical comparisons of classifiers over
multiple data sets", JMLR 7 (2006).
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.own_data import sets
from benchmarks.own_data.names import METHODS, SIMPLE


@dataclass(frozen=True)
class Standing:
    """The records of one half and number of labels that can be compared.

    Attributes:
      half, labels: which.
      names: the sets on which every simple tool has been run.
      methods: those that have been run on all of them, with the same splits.
      left_out: {method: number of sets}, those that have been run on some.
      cells: {(set, method): records, by split}.
    """

    half: str
    labels: int
    names: tuple[str, ...]
    methods: tuple[str, ...]
    left_out: dict[str, int]
    cells: dict[tuple[str, str], list[dict]]

    @classmethod
    def of(cls, records, half, labels):
        """That of all records."""
        found: dict = defaultdict(dict)
        for record in records:
            if record["labels"] == labels and sets.SETS[record["set"]].half == half:
                found[record["set"], record["method"]][record["split"]] = record
        names = tuple(n for n in sets.of_half(half) if all((n, tool) in found for tool in SIMPLE))
        here = {method: sum((n, method) in found for n in names) for method in METHODS}
        whole = tuple(m for m in METHODS if names and here[m] == len(names))
        cells = {}
        for name in names:
            # Every one of them has these; a run that was interrupted may have more of some.
            splits = set.intersection(*(set(found[name, method]) for method in whole))
            for method in whole:
                cells[name, method] = [found[name, method][split] for split in sorted(splits)]
        left_out = {m: count for m, count in here.items() if 0 < count < len(names)}
        return cls(half, labels, names, whole, left_out, cells)

    def values(self, name, method, measure="error"):
        """[splits] of a set."""
        return np.array([record[measure] for record in self.cells[name, method]])

    def table(self, measure="error"):
        """[sets, methods], means over the splits."""
        rows = [[self.values(n, m, measure).mean() for m in self.methods] for n in self.names]
        return np.array(rows)

    def means(self, measure="error"):
        """{method: mean over the sets}."""
        return dict(zip(self.methods, self.table(measure).mean(axis=0).tolist(), strict=True))

    def ranks(self):
        """{method: mean rank of its error}, 1 is the best; equals share their mean rank."""
        mean = rank_rows(self.table()).mean(axis=0)
        return dict(zip(self.methods, mean.tolist(), strict=True))

    def best(self, name, tools=SIMPLE):
        """The one of some tools with the least mean test error on a set: an oracle's choice."""
        return min(tools, key=lambda tool: self.values(name, tool).mean())

    def oracle(self):
        """The mean error of who picks the best simple tool of each set by its test error."""
        return float(np.mean([self.values(n, self.best(n)).mean() for n in self.names]))

    def difference(self, name, first, second):
        """The `Difference` of the errors of two methods on a set, paired by split."""
        gaps = self.values(name, first) - self.values(name, second)
        deviation = gaps.std(ddof=1) if len(gaps) > 1 else np.nan
        return Difference(float(gaps.mean()), float(deviation / np.sqrt(len(gaps))))

    def failures(self, method):
        """["set, split k: note"]."""
        return [
            f"{name}, split {record['split']}: {record['note']}"
            for name in self.names
            for record in self.cells[name, method]
            if "note" in record
        ]

    def largest(self, method, measure):
        """The largest value of all cells, and the set it is of; failed cells may have none."""
        every = (
            (record[measure], name)
            for name in self.names
            for record in self.cells[name, method]
            if record.get(measure) is not None
        )
        return max(every, default=(float("nan"), "none"))


class Difference(NamedTuple):
    """A mean over splits and its standard error; NaN of a single split."""

    mean: float
    error: float

    def exceeds(self, points):
        """Whether it is above `points` by more than a standard error."""
        noise = 0.0 if np.isnan(self.error) else self.error
        return self.mean > points + noise


class Friedman(NamedTuple):
    """Are the mean ranks of k methods on N sets more different than chance makes them?"""

    chi_squared: float  # of Friedman, k - 1 degrees of freedom
    f: float  # of Iman and Davenport, k - 1 and (k - 1)(N - 1) degrees of freedom
    p: float  # by F


def rank_rows(errors):
    """[sets, methods], 1 for the least error of a row."""
    return stats.rankdata(errors, axis=1)


def friedman(ranks):
    """The `Friedman` test of ranks [N, k]."""
    count, k = ranks.shape
    mean = ranks.mean(axis=0)
    chi = 12 * count / (k * (k + 1)) * ((mean**2).sum() - k * (k + 1) ** 2 / 4)
    room = count * (k - 1) - chi
    f = np.inf if room <= 0 else (count - 1) * chi / room
    p = stats.f.sf(f, k - 1, (k - 1) * (count - 1))
    return Friedman(float(chi), float(f), float(p))


def critical_difference(k, count, alpha=0.05):
    """Of Nemenyi: mean ranks of k methods on `count` sets that differ by less are not told apart.

    q sqrt(k (k + 1) / (6 N)), q the quantile of the studentized range over sqrt 2.
    """
    q = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * count)))


def cliques(ranks, least):
    """Maximal groups of methods whose mean ranks differ by less than `least`: [[method, ...]]."""
    order = sorted(ranks, key=ranks.__getitem__)
    groups: list[list[str]] = []
    for i, first in enumerate(order):
        group = [m for m in order[i:] if ranks[m] - ranks[first] < least]
        if len(group) > 1 and not (groups and groups[-1][-1] == group[-1]):
            groups.append(group)
    return groups
