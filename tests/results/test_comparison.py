"""Paired tests against hand counts and SciPy, and which runs are paired."""

import dataclasses
from math import comb

import numpy as np
import pytest
from scipy import stats

from tfssl.results import comparison
from tfssl.results.intervals import mean_and_interval
from tfssl.runs.opened import OpenedRun


def test_mcnemar_counts_the_points_that_one_gets_right():
    wrong_a = np.array([1] * 9 + [0] * 2 + [1] * 5 + [0] * 50, bool)
    wrong_b = np.array([0] * 9 + [1] * 2 + [1] * 5 + [0] * 50, bool)
    only_a, only_b, p = comparison.mcnemar(wrong_a, wrong_b)
    assert (only_a, only_b) == (9, 2)
    np.testing.assert_allclose(p, 2 * sum(comb(11, k) for k in range(3)) / 2**11)
    assert comparison.mcnemar(wrong_a, wrong_a) == (0, 0, 1.0)


def test_the_paired_t(rng):
    a, b = rng.uniform(size=6), rng.uniform(size=6)
    mean, half_width, p = comparison.paired_t(a, b)
    expected = stats.ttest_rel(a, b)
    np.testing.assert_allclose([mean, p], [np.mean(a - b), expected.pvalue])
    interval = expected.confidence_interval()
    np.testing.assert_allclose([mean - half_width, mean + half_width], interval)
    assert comparison.paired_t([0.1, 0.2], [0.1, 0.2]) == (0.0, 0.0, 1.0)


def nearest_neighbour_errors(x, label, rows, tested):
    """Test errors of two methods that are as good as each other: one sees half of the features."""
    train, test = rows[tested:], rows[:tested]
    for half in (slice(0, 5), slice(5, 10)):
        distances = ((x[test][:, np.newaxis, half] - x[train][:, half]) ** 2).sum(axis=-1)
        yield np.mean(label[train][distances.argmin(axis=1)] != label[test])


def test_equal_methods_on_splits_of_one_pool_are_seldom_told_apart():
    """5 % of false alarms or a little less; the plain t gives one in three."""
    rng, points, tested, pools = np.random.default_rng(0), 120, 40, 300
    label, alarms = np.arange(points) % 2, np.zeros(2)
    for _ in range(pools):
        x = rng.normal(size=(points, 10)) + 0.5 * label[:, np.newaxis]
        splits = [rng.permutation(points) for _ in range(10)]
        errors = [list(nearest_neighbour_errors(x, label, rows, tested)) for rows in splits]
        for i, overlap in enumerate((0.0, tested / (points - tested))):
            _, _, p = comparison.paired_t(*zip(*errors, strict=True), overlap)
            alarms[i] += p < 0.05
    plain, corrected = alarms / pools
    assert plain > 0.25
    assert 0.01 <= corrected <= 0.07


def test_the_interval_of_splits_of_one_pool_is_that_of_nadeau_and_bengio(rng):
    values = rng.uniform(size=8)
    mean, half_width = mean_and_interval(values, overlap=0.4)
    variance = np.var(values, ddof=1) * (1 / 8 + 0.4)
    np.testing.assert_allclose(half_width, stats.t.ppf(0.975, 7) * np.sqrt(variance))
    mean, paired, p = comparison.paired_t(values, values[::-1] - 0.1, overlap=0.4)
    assert (paired < mean) == (p < 0.05)


def test_holm():
    np.testing.assert_allclose(comparison.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert comparison.holm([0.7, 0.8]) == [1.0, 1.0]
    assert comparison.holm([]) == []


def outcome(name, method, split, error, test="test"):
    wrong = np.arange(100) < 100 * error
    return comparison.Outcome(
        name, method, method, (test,), (test, split), wrong, {"error": error}, 10
    )


def test_several_splits_are_compared_by_t():
    runs = [outcome(f"a{i}", "A", i, e) for i, e in enumerate([0.1, 0.2, 0.3])]
    runs += [outcome(f"b{i}", "B", i, e) for i, e in enumerate([0.05, 0.1, 0.22])]
    runs.append(outcome("b9", "B", 9, 0.9))  # a split that A has not
    runs.append(outcome("a0 again", "A", 0, 0.2))  # another seed: the split's mean counts once
    (verdict,) = comparison.compare(runs)
    expected = stats.ttest_rel([0.15, 0.2, 0.3], [0.05, 0.1, 0.22])
    assert (verdict.first, verdict.second) == ("a0, a0 again, a1, a2", "b0, b1, b2")
    np.testing.assert_allclose(verdict.p, expected.pvalue)
    assert "3 labelled sets, on one test set" in verdict.evidence


def test_splits_of_one_pool_are_compared_with_their_overlap():
    errors = [0.1, 0.2, 0.3], [0.05, 0.1, 0.22]
    runs = [
        dataclasses.replace(outcome(f"{method}{i}", method, i, e, test=i), overlap=0.5)
        for method, column in zip("AB", errors, strict=True)
        for i, e in enumerate(column)
    ]
    (verdict,) = comparison.compare(runs)
    assert verdict.p == comparison.paired_t(*errors, 0.5)[2]
    assert verdict.p > 2 * comparison.paired_t(*errors)[2]
    assert "3 splits of one pool" in verdict.evidence


def test_one_split_is_compared_by_mcnemar():
    a, b = outcome("a", "A", 0, 0.3), outcome("b", "B", 0, 0.1)
    other = outcome("b1", "B", 1, 0.2)
    (verdict,) = comparison.compare([a, other, b])
    assert (verdict.first, verdict.second) == ("a", "b")  # the same labels, not just test points
    np.testing.assert_allclose(verdict.difference, 0.2)
    np.testing.assert_allclose(verdict.p, 2 / 2**20)


def test_runs_of_one_method_are_compared_one_by_one_with_holm():
    runs = [outcome(f"a{i}", "A", i, e) for i, e in enumerate([0.1, 0.2, 0.3])]
    verdicts = comparison.compare(runs)
    assert [(v.first, v.second) for v in verdicts] == [("a0", "a1"), ("a0", "a2"), ("a1", "a2")]
    np.testing.assert_allclose([v.p for v in verdicts], [4 / 2**10, 6 / 2**20, 4 / 2**10])


def test_without_common_test_points_there_is_no_test():
    (verdict,) = comparison.compare([outcome("a", "A", 0, 0.1), outcome("b", "B", 0, 0.1, "other")])
    assert (verdict.p, verdict.difference) == (None, None)


def test_a_run_says_how_much_of_its_pool_it_tests(image_run):
    """Of the folder's pictures; a test set of its own shares nothing with the others."""
    opened = OpenedRun.open(image_run)
    experiment, tested = opened.experiment, len(opened.experiment.split.x_test)
    rest = len(experiment.source.x) - tested
    assert comparison.Outcome.of(opened).overlap == tested / rest > 0
    source = dataclasses.replace(experiment.source, x_test=experiment.split.x_test)
    assert dataclasses.replace(experiment, source=source).test_overlap == 0.0


def test_the_command(image_run, other_run, call):
    code, output, error = call("compare", image_run, other_run)
    assert code == 0, error
    assert "McNemar" in output
    assert "p = " in output
    assert "Holm" not in output


@pytest.mark.parametrize(("names", "message"), [(1, "at least two"), (2, "different folders")])
def test_bad_runs_exit_with_2(names, message, image_run, call):
    code, _, error = call("compare", *[image_run] * names)
    assert (code, message in error) == (2, True)


def test_runs_without_test_points_exit_with_2(table_run, image_run, call):
    code, _, error = call("compare", table_run, image_run)
    assert (code, "must have test points" in error) == (2, True)
