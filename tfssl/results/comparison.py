"""Runs side by side, with paired tests: is one better, or is it chance?

Runs that differ in nothing but their split and seed are one method. Two methods are compared

- by a paired t-test of their errors, over the splits that both have been run on, if these are
  several; corrected for what splits of one pool have in common, see `tfssl.results.intervals`;
- else by McNemar's exact test on one test set: of the points that one of the two runs gets right
  and the other wrong, each is as likely to be right (this is the sign test on those points).

With several pairs of methods the p-values are Holm's, so that among them all a false alarm
stays as rare as in one test.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from tfssl.errors import expect
from tfssl.results.intervals import mean_and_interval, standard_error
from tfssl.runs.metrics import classification_metrics
from tfssl.settings import dump_settings, with_changes
from tfssl.settings.kinds import method_name


def mcnemar(wrong_a, wrong_b):
    """McNemar's exact test on the same points.

    Args:
      wrong_a, wrong_b: [N] booleans.

    Returns:
      (points that only a gets wrong, points that only b gets wrong, two-sided p-value).
    """
    only_a, only_b = int((wrong_a & ~wrong_b).sum()), int((wrong_b & ~wrong_a).sum())
    if only_a + only_b == 0:
        return 0, 0, 1.0
    return only_a, only_b, float(stats.binomtest(only_a, only_a + only_b).pvalue)


def paired_t(errors_a, errors_b, overlap=0.0):
    """(mean of a - b, half-width of its 95% interval, two-sided p-value) over at least 2 splits.

    Args:
      errors_a, errors_b: [n], on the same splits.
      overlap: as in `intervals.mean_and_interval`.
    """
    difference = np.asarray(errors_a, np.float64) - np.asarray(errors_b, np.float64)
    mean, half_width = mean_and_interval(difference, overlap)
    if np.ptp(difference) == 0:  # no variance to compare with
        return mean, half_width, 1.0 if mean == 0 else 0.0
    t = mean / standard_error(difference, overlap)
    return mean, half_width, float(2.0 * stats.t.sf(abs(t), len(difference) - 1))


def holm(p_values):
    """Holm's adjusted p-values, in the order given."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(adjusted, 1.0)
    return result.tolist()


@dataclass(frozen=True)
class Outcome:
    """What a run got wrong.

    Attributes:
      name: the run folder.
      method: its settings but for split and seed, as text: equal for runs of one method.
      title: what to call the method.
      test: what identifies its test points.
      split: what identifies its test and labelled points.
      wrong: [N] booleans, on the test points.
      metrics: `evaluation.classification_metrics` on them.
      labels: how many labels it was trained with.
      overlap: `Experiment.test_overlap`.
    """

    name: str
    method: str
    title: str
    test: tuple
    split: tuple
    wrong: np.ndarray
    metrics: dict
    labels: int
    overlap: float = 0.0

    @classmethod
    def of(cls, opened):
        """The outcome of an `OpenedRun`."""
        run, parts = opened.run, opened.experiment.split
        expect(len(parts.x_test) > 0, f"{run.folder.path} must have test points", test_points=0)
        probabilities = run.probabilities(parts.x_test)
        settings = with_changes(
            run.settings, seed=0, data={"split_seed": 0, "validation_seed": None}, m1={"run": None}
        )
        test = (run.settings.data.name, parts.rows["test"].tobytes(), parts.label_test.tobytes())
        return cls(
            name=str(run.folder.path),
            method=str(dump_settings(settings)),
            title=method_name(run.settings),
            test=test,
            split=(*test, parts.rows["labelled"].tobytes()),
            wrong=probabilities.argmax(axis=1) != parts.label_test,
            metrics=classification_metrics(probabilities, parts.label_test),
            labels=len(parts.label),
            overlap=opened.experiment.test_overlap,
        )


class Verdict(NamedTuple):
    """Two methods compared.

    Attributes:
      first, second: names of their runs, with commas between.
      difference: error of the first minus that of the second.
      half_width: of the 95% interval of the difference over splits, or None.
      evidence: what the test counted, in words.
      p: the p-value, None where no test fits.
    """

    first: str
    second: str
    difference: float | None
    half_width: float | None
    evidence: str
    p: float | None


def compare(outcomes):
    """A `Verdict` for every pair of methods, p-values adjusted."""
    methods = list(_by(outcomes, "method").values())
    if len(methods) == 1:  # runs of one method are still runs to compare
        methods = [[outcome] for outcome in outcomes]
    verdicts = [compare_methods(a, b) for a, b in itertools.combinations(methods, 2)]
    tested = [i for i, verdict in enumerate(verdicts) if verdict.p is not None]
    for i, p in zip(tested, holm([verdicts[i].p for i in tested]), strict=True):
        verdicts[i] = verdicts[i]._replace(p=p)
    return verdicts


def compare_methods(first, second):
    """The `Verdict` on two lists of `Outcome`, before any adjustment."""
    splits = [split for split in _by(first, "split") if split in _by(second, "split")]
    if len(splits) > 1:
        pairs = [(_by(first, "split")[split], _by(second, "split")[split]) for split in splits]
        # Of one pool: the largest share that any of them tests.
        overlap = max(outcome.overlap for pair in pairs for side in pair for outcome in side)
        ours, theirs = ([_mean_error(pair[side]) for pair in pairs] for side in (0, 1))
        mean, half_width, p = paired_t(ours, theirs, overlap)
        over = f"{len(splits)} splits of one pool, corrected for their overlap"
        if overlap == 0.0:
            over = f"{len(splits)} labelled sets, on one test set"
        a, b = (_names(itertools.chain(*column)) for column in zip(*pairs, strict=True))
        return Verdict(a, b, mean, half_width, f"paired t over {over}", p)
    same_test = [(a, b) for a in first for b in second if a.test == b.test]
    if not same_test:
        return Verdict(_names(first), _names(second), None, None, "no test points in common", None)
    # Of the same labels, if there is such a pair.
    a, b = next((pair for pair in same_test if pair[0].split == pair[1].split), same_test[0])
    only_a, only_b, p = mcnemar(a.wrong, b.wrong)
    evidence = (
        f"McNemar, these two trainings only: {only_a} wrong in the first only, "
        f"{only_b} in the second only"
    )
    return Verdict(a.name, b.name, a.metrics["error"] - b.metrics["error"], None, evidence, p)


def _by(outcomes, attribute):
    """{value: the outcomes that have it}."""
    groups: dict = {}
    for outcome in outcomes:
        groups.setdefault(getattr(outcome, attribute), []).append(outcome)
    return groups


def _mean_error(outcomes):
    return float(np.mean([outcome.metrics["error"] for outcome in outcomes]))


def _names(outcomes):
    return ", ".join(outcome.name for outcome in outcomes)
