"""Paired tests against hand counts and SciPy, and which runs are paired."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from tfssl.results import comparison


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
    assert "3 splits" in verdict.evidence


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
