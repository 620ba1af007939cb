"""The benchmark of users' kinds of data: its splits, its inputs, and runs that go on."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.own_data import cell as cells
from benchmarks.own_data import names, results, seat, sets, splits
from benchmarks.own_data.__main__ import Progress, chunks, main, run
from benchmarks.own_data.cell import Cell
from tfssl.errors import InputError

ROOT = Path(__file__).parents[2]


def test_every_set_is_in_one_half_and_both_have_all_kinds():
    assert len(sets.SETS) == 24
    halves = [sets.of_half(half) for half in sets.HALVES]
    assert [len(half) for half in halves] == [12, 12]
    kinds = [{sets.SETS[name].kind for name in half} for half in halves]
    assert kinds[0] | {"series"} == kinds[1]
    assert all(any(sets.SETS[name].helped for name in half) for half in halves)


@pytest.mark.parametrize("labels", [3, 10, 30])
def test_splits_are_balanced_and_disjoint(labels):
    y = np.repeat([0, 1, 2], [1000, 600, 40])
    found = splits.split("made up", y, labels, 0)
    assert np.bincount(found.y[found.y >= 0]).tolist() == [labels, labels, min(labels, 22)]
    assert (y[found.train][found.y >= 0] == found.y[found.y >= 0]).all()
    # 30 % of each class; every row is somewhere, once.
    assert np.bincount(y[found.test]).tolist() == [300, 180, 12]
    assert sorted([*found.train, *found.test]) == list(range(len(y)))


def test_large_sets_are_cut():
    y = np.arange(20_000) % 4
    found = splits.split("made up", y, 3, 0)
    assert (len(found.train), len(found.test)) == (splits.MAX_TRAIN, splits.MAX_TEST)
    assert len({*found.train, *found.test}) == splits.MAX_TRAIN + splits.MAX_TEST


def test_a_class_with_few_rows_keeps_some_without_a_label():
    y = np.repeat([0, 1], [100, 10])
    found = splits.split("made up", y, 30, 0)
    rare = y[found.train] == 1
    assert (rare.sum(), (found.y[rare] == 1).sum()) == (7, 6)


def test_splits_are_seeded_and_share_rows_between_numbers_of_labels():
    y = np.arange(900) % 3
    few, more = (splits.split("iris", y, labels, 1) for labels in (3, 10))
    again = splits.split("iris", y, 3, 1)
    for one, other in zip((few.train, few.y, few.test), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(few.train, more.train)
    np.testing.assert_array_equal(few.test, more.test)
    assert (more.y[few.y >= 0] == few.y[few.y >= 0]).all()
    for other in (splits.split("iris", y, 3, 2), splits.split("wine", y, 3, 1)):
        assert not np.array_equal(other.train, few.train)


def test_every_method_gets_the_same_rows():
    """Images as bytes or as intensities, of the same rows."""
    raw, first = cells.inputs("digits", 3, 0, raw=True)
    scaled, second = cells.inputs("digits", 3, 0, raw=False)
    assert raw.dtype == np.uint8
    assert scaled.max() == 1
    np.testing.assert_array_equal(raw / 16, scaled)
    np.testing.assert_array_equal(first.train, second.train)
    np.testing.assert_array_equal(first.y, second.y)


def test_a_mixed_table_is_shaped_by_its_training_rows():
    x = np.array([["1", "a"], ["", "b"], ["3", "a"], ["100", "c"], ["", ""]])
    encoded = splits.encode(x, np.array(["num", "cat"]), np.array([0, 1, 2]))
    expected = [[1, 0, 1, 0], [2, 1, 0, 1], [3, 0, 1, 0], [100, 0, 0, 0], [2, 1, 0, 0]]
    np.testing.assert_array_equal(encoded, expected)


def test_what_is_missing_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("TFSSL_DATA_DIR", raising=False)
    with pytest.raises(InputError, match=r"TFSSL_DATA_DIR names, which is not set.*--sets iris"):
        sets.check_present(["iris", "adult"])
    sets.check_present(["iris", "digits", "moons"])
    monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"adult is missing: there is no .*tables/adult\.npz\."):
        sets.check_present(["adult"])
    (tmp_path / "unpack_svhn.py").touch()
    with pytest.raises(InputError, match=r"Unpack it.*unpack_svhn\.py"):
        sets.check_present(["svhn"])
    for words in (["--half", "final"], ["--sets", "iris", "--methods", "magic"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 2
    assert "magic" in capsys.readouterr().err


def test_every_simple_tool_says_probabilities_of_all_classes():
    from benchmarks.own_data.simple import SIMPLE

    assert tuple(SIMPLE) == names.SIMPLE
    for method in SIMPLE:
        cell = Cell("iris", method, 3, 0)
        record = cells.measure(cell, *cells.prepare(cell))
        assert "note" not in record, record
        assert record["error"] < 0.25
        assert record["log_loss"] < 4
        assert 0 < record["seconds"] < 60
        assert 50 < record["megabytes"] < 4000


def test_a_finished_cell_is_not_run_again(tmp_path, capsys):
    words = ["--sets", "iris", "--methods", "naive_bayes,lda", "--labels", "3", "--splits", "2"]
    words += ["--output", str(tmp_path)]
    main(words)
    file = tmp_path / "iris" / "lda.jsonl"
    first = [json.loads(line) for line in file.read_text().splitlines()]
    assert [record["split"] for record in first] == [0, 1]
    facts = {"set": "iris", "half": "development", "n": 150, "d": 4, "classes": 3, "labels": 3}
    assert facts.items() <= first[0].items()
    assert "scikit-learn" in first[0]["versions"]
    # One of the four is lost; only that one is measured, the others keep their seconds.
    file.write_text(file.read_text().splitlines()[1] + "\n")
    capsys.readouterr()
    main(words)
    assert "[1/1] iris, lda, 3 labels, split 0" in capsys.readouterr().out
    second = [json.loads(line) for line in file.read_text().splitlines()]
    assert second[1] == first[1]
    for measure in ("error", "log_loss", "ece"):
        assert second[0][measure] == first[0][measure]
    assert sorted(path.name for path in file.parent.iterdir()) == ["lda.jsonl", "naive_bayes.jsonl"]
    main([*words, "--again"])
    assert "[4/4]" in capsys.readouterr().out


def test_ours_are_measured_in_processes_of_their_own(tmp_path):
    cell = Cell("iris", "m1", 3, 0)
    assert run([cell], tmp_path) == 1
    (record,) = results.read_all(tmp_path)
    assert "note" not in record, record
    assert record["predict_20000_seconds"] > 0
    assert "tensorflow" in record["versions"]
    other = Cell("iris", "auto", 3, 1)
    simple = [Cell("iris", method, 3, 0) for method in ("lda", "svm")]
    assert chunks([cell, *simple, other]) == [[cell], simple, [other]]


@pytest.mark.slow  # it fits every candidate
def test_what_a_choice_said_is_kept():
    cell = Cell("iris", "auto", 3, 0)
    record = cells.measure(cell, *cells.prepare(cell))
    assert "note" not in record, record
    rows = record["choice"]["rows"]
    assert len({row["name"] for row in rows}) == len(rows) > 1
    assert sum(row["weight"] for row in rows) == pytest.approx(1, abs=0.01)
    assert record["choice"]["sentence"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_failure_is_a_result():
    def broken(*_):
        raise ValueError("no\n  luck")

    cell = Cell("breast_cancer", "lda", 3, 0)
    _, *data = cells.prepare(cell)
    record = cells.measure(cell, broken, *data)
    label = cells.load("breast_cancer").y[data[1].test]
    assert record["note"] == "failed: ValueError: no luck"
    assert record["error"] == np.mean(label == 0)  # 37 %: always class 1
    assert record["log_loss"] == np.log(2)
    assert record["ece"] == pytest.approx(np.mean(label == 1) - 0.5)


def test_probabilities_are_checked():
    found = cells.checked(np.array([[0.2, 0.8], [np.nan, np.nan]]), np.array([0, 2]), 3)
    np.testing.assert_allclose(found, [[0.2, 0, 0.8], [1 / 3] * 3])
    with pytest.raises(ValueError, match="sum to one"):
        cells.checked(np.array([[0.2, 0.2]]), np.array([0, 1]), 2)
    score = cells.scores(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0]))
    assert score["error"] == 0.5
    assert score["log_loss"] == pytest.approx((np.log(1e7) + np.log(2)) / 2)


def test_a_cell_that_is_too_slow_is_ended_and_counted():
    """And the next one has a new process."""
    with seat.Seat(0.0) as chair:
        record = chair.run(Cell("iris", "svm", 10, 0))
        assert record["note"] == "failed: longer than 0 s"
        assert record["classes"] == 3
        assert chair.process is None
        chair.limit = 100.0
        assert "note" not in chair.run(Cell("iris", "lda", 10, 0))
        os.kill(chair.process.pid, signal.SIGKILL)
        assert "exit code -9" in chair.run(Cell("iris", "lda", 10, 1))["note"]
        stop = threading.Event()
        stop.set()
        chair.stop = stop
        with pytest.raises(seat.Stopped):
            chair.run(Cell("iris", "lda", 10, 1))


def test_ctrl_c_leaves_whole_results_and_no_failure(tmp_path):
    command = [sys.executable, "-m", "benchmarks.own_data", "--sets", "iris", "--splits", "50"]
    command += ["--methods", "self_training", "--labels", "10", "--output", tmp_path]
    file = tmp_path / "iris" / "self_training.jsonl"
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    records = results.read(file)
    assert 0 < len(records) < 50
    assert not [record for record in records.values() if "note" in record]


def test_the_time_that_is_left():
    asked = [Cell("iris", method, 3, k) for method in ("lda", "svm") for k in range(3)]
    progress = Progress(asked, jobs=2)
    progress.ended(asked[0], 1.0, "")
    assert progress.remaining() == 5 / 2
    progress.ended(asked[3], 7.0, "")
    assert progress.remaining() == (2 * 1 + 2 * 7) / 2
