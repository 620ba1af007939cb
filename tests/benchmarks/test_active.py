"""The active-learning benchmark still runs, in tiny sizes, and its verdict is a paired t-test."""

import json
import sys

import numpy as np
from scipy import stats

from benchmarks.quality import active


def test_it_runs(tmp_path, monkeypatch, capsys):
    command = ["active", "--seeds", "2", "--epochs", "1", "--rounds", "1", "--classifier", "svm"]
    monkeypatch.setattr(sys, "argv", [*command, "--output", str(tmp_path)])
    active.main()
    for seed in (0, 1):
        record = json.loads((tmp_path / f"digits_{seed}.json").read_text())
        assert record["labels"] == [20, 30]
        first = {errors[0] for errors in record["errors"].values()}
        assert len(first) == 1  # the same labels to start with
        assert all(0 < e < 1 for errors in record["errors"].values() for e in errors)
    assert "random choice" in capsys.readouterr().out.splitlines()[-1]


def test_the_verdict():
    random = np.array([[0.3, 0.2, 0.1], [0.3, 0.22, 0.12], [0.3, 0.19, 0.1]])
    better = random - [[0.0, 0.04, 0.04], [0.0, 0.06, 0.05], [0.0, 0.05, 0.05]]
    results = [
        {"labels": [10, 20, 30], "overlap": 0.0, "errors": {"random": list(a), "suggest": list(b)}}
        for a, b in zip(random, better, strict=True)
    ]
    p = stats.ttest_rel(random[:, 1:].mean(axis=1), better[:, 1:].mean(axis=1)).pvalue
    last = active.verdict(results)[-1]
    assert last.startswith("suggest beats random choice: 4.83 +- ")
    assert last.endswith(f"3 seeds, p = {p:.2g}")
    one_pool = [{**result, "overlap": 1e3} for result in results]
    assert "is not told apart from" in active.verdict(one_pool)[-1]
    for result in results:
        result["errors"]["suggest"] = result["errors"]["random"]
    assert "is not told apart from" in active.verdict(results)[-1]
