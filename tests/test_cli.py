"""The command line: exit codes, messages without tracebacks, nothing written on bad input."""

import csv
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.table import Table

from tfssl.commands.common import console

TABLE1 = ["reproduce", "table1", "--configs", Path(__file__).parent.parent / "configs"]
SMALL = [
    "m1.epochs=1",
    "m2.epochs=1",
    "m1.hidden_units=[10]",
    "m2.hidden_units=[10]",
    "m1.latent_dim=5",
    "m2.latent_dim=3",
    "m2.supervised_steps=0",
]


@pytest.fixture(scope="module")
def trained_by_command(tmp_path_factory, call):
    """A run whose name would be markup and emoji, and what was printed."""
    folder = tmp_path_factory.mktemp("cli") / "a [/red] [bold] :cat: run"
    options = [f"--set={setting}" for setting in [*SMALL, "model=m2"]]
    code, output, error = call("train", "--run-dir", folder, *options)
    assert code == 0, error
    return folder, output


@pytest.fixture(scope="module")
def run_dir(trained_by_command):
    return trained_by_command[0]


def test_train_prints_its_results_and_names_as_they_are(trained_by_command):
    """Names in brackets or between colons are neither markup nor emoji."""
    folder, output = trained_by_command
    assert "test error" in output
    assert "labels used: 50 for training, 0 for model selection" in output
    assert f"run folder: {folder}\n" in output


def test_evaluate_repeats_the_stored_numbers(run_dir, call):
    import json

    code, output, _ = call("evaluate", run_dir)
    stored = json.loads((run_dir / "metrics.json").read_text())["test"]["error"]
    assert code == 0
    assert f"test error: {100 * stored:.2f}%" in output


@pytest.mark.parametrize("model", ["m1", "m2", "m1m2"])
def test_likelihood_prints_and_stores_its_estimates(model, run_copy, call):
    import json

    folder = run_copy(f"model={model}")
    sizes = ["--samples", 3, "--points", 40, "--seed", 5]
    code, output, error = call("likelihood", folder, *sizes)
    assert code == 0, error
    stored = json.loads((folder / "likelihood.json").read_text())
    settings = {"part": "test", "points": 40, "samples": 3, "seed": 5}
    assert settings.items() <= stored.items()
    assert stored["bound"] < stored["log_likelihood"] < 0
    assert f"test log p(x): {stored['log_likelihood']:.2f} nats" in output
    assert f"its bound {stored['bound']:.2f}" in output
    if model == "m1":
        assert "error by" not in output
        return
    for title, name in (("q(y|x)", "recognition"), ("Bayes' rule", "bayes")):
        assert stored[name]["examples"] == 40
        assert f"test error by {title}: {100 * stored[name]['error']:.2f}%" in output


def test_tables_show_names_as_they_are(capsys):
    table = Table("class", title="[bold]")
    table.add_row("[/red] :cat:")
    console.print(table)
    output = capsys.readouterr().out
    assert "[bold]" in output
    assert "[/red] :cat:" in output


def test_likelihood_needs_points(run_dir, call):
    code, _, error = call("likelihood", run_dir, "--part", "validation")
    assert (code, "at least two validation points" in error) == (2, True)
    assert not (run_dir / "likelihood.json").exists()


def test_predict_writes_ids_labels_and_probabilities(run_dir, tmp_path, rng, call):
    x = rng.integers(0, 17, size=(7, 8, 8))
    np.savez(tmp_path / "new.npz", x=x)
    code, _, error = call("predict", run_dir, tmp_path / "new.npz", "--output", tmp_path / "p.csv")
    assert code == 0, error
    with open(tmp_path / "p.csv", newline="") as file:
        header, *rows = csv.reader(file)
    numbers = ["confidence", "entropy", "log_likelihood"]
    assert header == ["id", "label", *numbers, *(f"uncalibrated p({k})" for k in range(10))]
    assert [row[0] for row in rows] == [str(i) for i in range(7)]
    for row in rows:
        shares = np.array(row[5:], float)
        np.testing.assert_allclose(shares.sum(), 1.0, rtol=1e-4)
        assert row[1] == str(shares.argmax())


def test_predict_refuses_bad_inputs_and_writes_nothing(run_dir, tmp_path, call):
    output = tmp_path / "p.csv"
    cases = {
        "wrong_shape.npy": (np.zeros((3, 5, 5)), r"shape [N, 8, 8]"),
        "too_large.npy": (np.full((3, 8, 8), 99), "[0, 16]"),
        "fraction.npy": (np.full((3, 8, 8), 0.5), "whole numbers"),
        "not_finite.npy": (np.full((3, 8, 8), np.nan), "finite"),
    }
    for name, (array, message) in cases.items():
        np.save(tmp_path / name, array)
        code, _, error = call("predict", run_dir, tmp_path / name, "--output", output)
        assert (code, message in error) == (2, True), (name, error)
    code, _, error = call("predict", run_dir, tmp_path / "none.npy", "--output", output)
    assert (code, "cannot read" in error) == (2, True)
    assert not output.exists()


def test_predict_never_writes_over_a_file(run_dir, tmp_path, call):
    (tmp_path / "p.csv").write_text("mine")
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8)))
    code, _, error = call("predict", run_dir, tmp_path / "x.npy", "--output", tmp_path / "p.csv")
    assert (code, "must not exist yet" in error) == (2, True)
    assert (tmp_path / "p.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere.toml"], "cannot read settings nowhere.toml"),
        (["train", "--set", "m2.epoch=1"], "did you mean `m2.epochs`?"),
        (["train", "--set", "data.name=mnits"], "must be one of digits, mnist"),
        (["evaluate", "nowhere"], "must be a run folder"),
        (["study", "--splits", "0"], "Invalid value for '--splits'"),
        (["study", "--set", "data.num_test=0"], "it needs data.num_test. Received: num_test=0"),
        (["reproduce", "table9"], "WHAT must be one of table1, table2, table3, supervised"),
        (["reproduce", "table1", "--labels", "x"], "--labels must be numbers with commas"),
        (["reproduce", "table1", "--labels", "50"], "has these labels: 100, 600, 1000, 3000"),
        (["reproduce", "table1", "--models", "m3"], "has these methods: knn, svm"),
        (["reproduce", "table1", "--budget", "vast"], "--budget must be one of full, quick"),
        ([*TABLE1, "--set", "device.precision=int4"], "`device.precision`: Input should be"),
        ([*TABLE1, "--set", "m2.epoch=1"], "did you mean `m2.epochs`?"),
        (["reproduce", "table1", "--configs", "nowhere"], "cannot read settings nowhere"),
        (["reproduce", "supervised", "--configs", "nowhere"], "cannot read settings nowhere"),
        (["likelihood", "nowhere"], "must be a run folder"),
        (["likelihood", "nowhere", "--samples", "0"], "Invalid value for '--samples'"),
        (["likelihood", "nowhere", "--part", "train"], "Invalid value for '--part'"),
        (["trian"], "No such command"),
        (["train", "--resume", "--run-dir", "nowhere"], "must be a run folder"),
    ],
)
def test_bad_commands_exit_with_2(arguments, message, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    code, output, error = call(*arguments)
    assert (code, message in output + error) == (2, True), output + error
    assert list(tmp_path.iterdir()) == []


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(overrides=st.lists(st.text(max_size=12), max_size=3))
def test_any_overrides_of_a_missing_run_exit_with_2(overrides, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    options = [f"--set={override}" for override in overrides]
    code, _, _ = call("train", "--resume", "--run-dir", "nowhere", *options)
    assert code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_program_prints_no_traceback():
    """The real entry point, as a shell sees it."""
    command = [sys.executable, "-m", "tfssl.cli", "train", "--set", "modle=m2"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("tfssl: error: invalid settings")
    assert "Traceback" not in result.stderr


def test_help_is_quick_and_has_examples():
    began = time.monotonic()
    command = [sys.executable, "-m", "tfssl.cli", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "tfssl train" in result.stdout
    # Well above what it takes, and well below an import of TensorFlow on a busy machine.
    assert time.monotonic() - began < 5


def test_study_runs_what_is_missing_and_prints_a_table(tmp_path, call):
    options = [f"--set={setting}" for setting in SMALL]
    arguments = ["study", "--splits", "1", "--dir", tmp_path, *options]
    code, output, error = call(*arguments)
    assert code == 0, error
    for method in ("1-NN", "SVM", "LabelSpreading", "M1+SVM", "M1+TSVM", "M2", "M1+M2"):
        assert method in output
    files = sorted((tmp_path / "results").glob("*.json"))
    assert len(files) == 7
    before = {file: file.stat().st_mtime_ns for file in files}
    files[0].unlink()
    code, _, error = call(*arguments)
    assert code == 0, error
    kept = {file: file.stat().st_mtime_ns for file in files[1:]}
    assert kept == {file: before[file] for file in files[1:]}
    assert files[0].exists()
