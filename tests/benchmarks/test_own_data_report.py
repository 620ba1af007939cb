"""The numbers of the report, from made-up cells and from the literature."""

import math

import numpy as np
import pytest

from benchmarks.own_data import goals, names, results, sets
from benchmarks.own_data.cell import Cell
from benchmarks.own_data.picture import draw
from benchmarks.own_data.report import main
from benchmarks.own_data.standing import (
    Difference,
    Standing,
    cliques,
    critical_difference,
    friedman,
)
from benchmarks.tables import own_data

DEVELOPMENT = sets.of_half("development")


def made_up(errors, half="development", labels=10, splits=2):
    """Records on all sets of a half; simple tools that are not named have an error of 0.5.

    Args:
      errors: {method: error, or a function of (number of the set, split)}.
    """
    errors = dict.fromkeys(names.SIMPLE, 0.5) | errors
    for number, name in enumerate(sets.of_half(half)):
        for method, error in errors.items():
            for split in range(splits):
                value = error(number, split) if callable(error) else error
                yield {
                    **{"set": name, "method": method, "labels": labels, "split": split},
                    **{"error": value, "log_loss": 2 * value, "ece": value / 10, "classes": 3},
                    **{"seconds": 3.0, "megabytes": 900.0, "predict_20000_seconds": 0.5},
                }


@pytest.mark.parametrize(
    ("k", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)],
)
def test_nemenyi_against_demsars_table_5(k, q):
    """With N = k (k + 1) / 6 the critical difference is q itself."""
    assert critical_difference(k, k * (k + 1) / 6) == pytest.approx(q, abs=1e-3)


def test_the_critical_difference_of_demsars_example():
    """Four classifiers on 14 sets, page 14: 1.25 at 5 %, 1.12 at 10 %."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=0.005)


def test_friedman_against_demsars_example():
    """Mean ranks 3.143, 2.000, 2.893, 1.964 on 14 sets: chi^2 = 9.28, F = 3.69."""
    mean = np.array([3.143, 2.000, 2.893, 1.964])
    found = friedman(np.tile(mean, (14, 1)))
    assert found.chi_squared == pytest.approx(9.28, abs=0.02)
    assert found.f == pytest.approx(3.69, abs=0.02)
    assert found.p == pytest.approx(0.02, abs=0.005)


def test_methods_that_are_not_told_apart():
    ranks = {"a": 1.0, "b": 2.0, "c": 2.9, "d": 4.5}
    assert cliques(ranks, 2.0) == [["a", "b", "c"], ["c", "d"]]
    assert cliques(ranks, 0.95) == [["b", "c"]]
    assert cliques(ranks, 0.5) == []


def test_means_ranks_and_the_oracle():
    """Two tools that are good on every other set: the oracle has the better one of each."""
    records = made_up(
        {
            "svm": lambda number, _: 0.1 if number % 2 else 0.3,
            "forest": lambda number, _: 0.2 if number % 2 else 0.1,
            "auto": lambda _, split: 0.1 + 0.04 * split,
        }
    )
    standing = Standing.of(records, "development", 10)
    assert standing.names == tuple(DEVELOPMENT)
    assert standing.methods == (*names.SIMPLE, "auto")
    means = standing.means()
    assert means["svm"] == pytest.approx(0.2)
    assert means["auto"] == pytest.approx(0.12)
    assert standing.means("log_loss")["auto"] == pytest.approx(0.24)
    ranks = standing.ranks()
    # 1 or 3, 3 or 1, always 2; the seven others share 4 to 10.
    assert [ranks[m] for m in ("svm", "forest", "auto", "lda")] == pytest.approx([2, 2, 2, 7])
    assert standing.oracle() == pytest.approx(0.1)
    assert standing.best(DEVELOPMENT[0]) == "forest"
    gap = standing.difference(DEVELOPMENT[0], "auto", "forest")
    # 0 and 0.04: mean 0.02, deviation 0.0283, over sqrt 2.
    assert gap == pytest.approx(Difference(0.02, 0.02))
    assert not gap.exceeds(0.0)
    assert Difference(0.031, 0.02).exceeds(0.01)
    assert Difference(0.03, math.nan).exceeds(0.01)


def test_what_was_not_run_everywhere_is_left_out():
    records = list(made_up({"auto": 0.1, "m2": 0.2}))
    records = [r for r in records if r["method"] != "m2" or r["set"] in ("iris", "usps")]
    # A set without a simple tool is none yet; a split that one method lacks is nobody's.
    records = [r for r in records if (r["set"], r["method"]) != ("heart", "lda")]
    gone = ("adult", "auto", 1)
    records = [r for r in records if (r["set"], r["method"], r["split"]) != gone]
    standing = Standing.of(records, "development", 10)
    assert "heart" not in standing.names
    assert "m2" not in standing.methods
    assert standing.left_out == {"m2": 2}
    assert len(standing.values("adult", "logreg")) == 1
    assert len(standing.values("iris", "logreg")) == 2
    assert Standing.of(records, "final", 10).names == ()


def verdicts(errors, **changes):
    records = [r | changes if r["method"] == "auto" else r for r in made_up(errors)]
    return {v.goal: v for v in goals.verdicts(Standing.of(records, "development", 10))}


def test_a_default_that_is_best_reaches_every_goal():
    found = verdicts({"auto": 0.1, "logreg": 0.2})
    assert len(found) == 12
    assert all(verdict.reached for verdict in found.values()), found


def test_a_default_that_is_worse_misses_them_and_says_by_how_much():
    # Half a point of standard error; logistic regression is the best tool, 6 points better.
    found = verdicts(
        {"auto": lambda _, split: 0.26 + 0.01 * (split - 0.5), "logreg": 0.2},
        ece=0.06,
        seconds=121.0,
        megabytes=3000.0,
        predict_20000_seconds=2.0,
        note="failed: why",
    )
    assert not any(verdict.reached for verdict in found.values()), found
    found = [verdict.found for verdict in found.values()]
    assert found[1] == "26.0 %; the next best, logistic regression, 20.0 %"
    assert found[2] == "26.0 %; the oracle, 20.0 %"
    assert found[3].startswith("adult +6.0 ± 0.5 (logistic regression); heart +6.0 ± 0.5")
    assert "usps 26.0 against 20.0 !" in found[5]
    assert "iris" not in found[5]
    assert found[8].startswith("adult, split 0: failed: why")


def test_the_margins_of_the_goals():
    """A point and an error of logistic regression, three and one of the best tool."""

    def reached(gap, deviation):
        """`gap` to the SVM, the best tool, on one set; its errors are `deviation` from it."""
        errors = {
            "svm": lambda number, _: 0.2 if number == 0 else 0.4,
            "logreg": lambda number, _: 0.2 if number == 0 else 0.4,
            "auto": lambda number, split: (
                0.2 + gap + deviation * (2 * split - 1) if number == 0 else 0.1
            ),
        }
        found = list(verdicts(errors).values())
        return found[3].reached, found[4].reached

    assert reached(0.009, 0.0) == (True, True)
    assert reached(0.02, 0.0) == (False, True)
    assert reached(0.02, 0.011) == (True, True)
    assert reached(0.04, 0.0) == (False, False)
    assert reached(0.04, 0.011) == (False, True)


def write(folder, records):
    for record in records:
        cell = Cell(*(record[key] for key in ("set", "method", "labels", "split")))
        results.write(folder, cell, record)


def test_the_final_half_is_hidden_until_the_default_was_run(tmp_path):
    records = list(made_up({"auto": 0.123}, half="final"))
    path = tmp_path / "methods" / "final_10"
    write(tmp_path, [r for r in records if r["method"] != "auto"])
    assert own_data.methods_table(path) == own_data.NOT_YET
    # Nor while it has been run on some of the sets alone.
    ours = [r for r in records if r["method"] == "auto"]
    write(tmp_path, ours[:-2])
    assert own_data.methods_table(path) == own_data.NOT_YET
    write(tmp_path, ours)
    assert "| **tfssl, all defaults** | 12.3 | 1.00 |" in own_data.methods_table(path)


def test_the_tables_and_the_picture(tmp_path, capsys):
    main(["--show", "development_10", "--results", str(tmp_path)])
    assert own_data.NO_RESULTS in capsys.readouterr().out
    write(tmp_path, made_up({"auto": 0.1, "svm": 0.2, "logreg": lambda _, split: 0.3 + split / 10}))
    main(["--show", "development_10", "--results", str(tmp_path)])
    out = capsys.readouterr().out
    assert "| *oracle: the best simple tool of each set* | 20.0 |" in out
    assert "12 sets, 2 splits of each. Friedman: chi² = " in out
    assert "| iris | 3 | 35.0 | 20.0 (RBF SVM) | 10.0 | -25.0 ± 5.0 | -10.0 ± 0.0 |" in out
    assert out.count("| reached |") == 12
    with pytest.raises(SystemExit):
        main(["--show", "all"])
    standing = Standing.of(results.read_all(tmp_path), "development", 10)
    figure = draw([standing, standing])
    for axes in figure.get_axes():
        written = " ".join(text.get_text() for text in axes.texts)
        assert "tfssl, all defaults  1.0" in written
        assert f"critical difference {critical_difference(10, 12):.2f}" in written
