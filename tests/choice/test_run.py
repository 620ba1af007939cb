"""A run of the choice: what it leaves behind, read back, resumed, exported and served."""

import json
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tfssl import load_settings, train
from tfssl.choice import choose, kept
from tfssl.errors import InputError
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun

SETTINGS = (
    "model=auto",
    "likelihood=columns",
    "data.num_labelled=30",
    "data.num_test=60",
    # Those that take half a second at most.
    "auto.budget=12",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Iris as an .npz file."""
    x, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("iris") / "iris.npz"
    np.savez(path, x=x, y=y, class_names=["setosa", "versicolor", "virginica"])
    return path


@pytest.fixture(scope="module")
def settings(table):
    return load_settings(None, [*SETTINGS, f"data.name={table}"])


@pytest.fixture(scope="module")
def run(settings, tmp_path_factory):
    return train(settings, tmp_path_factory.mktemp("run") / "run")


def test_it_leaves_the_answer_and_what_it_rests_on(run):
    choice = run.choice
    assert sum(row["weight"] for row in choice["rows"]) == pytest.approx(1.0)
    assert {m.name for m in run.blend.members} == {
        row["name"] for row in choice["rows"] if row["weight"]
    }
    tried = [row for row in choice["rows"] if row["error"] is not None]
    assert len(tried) >= 5
    assert len(list((run.folder / "evidence").iterdir())) == len(tried)
    assert choice["labels"] == 30
    assert sum(choice["shares"].values()) == pytest.approx(1.0)
    assert "NaN" not in (run.folder / "choice.json").read_text()
    metrics = run.folder.read_json("metrics.json")
    assert metrics["test"]["error"] < 0.15
    assert "bounds" not in metrics["test"]


def test_it_is_read_back_as_it_was(run):
    again = TrainedRun(run.folder.path)
    parts = experiment_of(again).split
    found = again.probabilities(parts.x_test)
    np.testing.assert_array_equal(found, run.probabilities(parts.x_test))
    error = (found.argmax(axis=1) != parts.label_test).mean()
    assert error == run.folder.read_json("metrics.json")["test"]["error"]
    assert again.is_calibrated
    np.testing.assert_array_equal(again.calibrated_probabilities(parts.x_test), found)


def test_there_is_no_generative_model_unless_asked_for(run):
    assert run.model is None
    with pytest.raises(InputError, match=r"a map needs a generative model.*with_generative=true"):
        run.generative("a map")


def test_a_killed_comparison_goes_on_and_ends_the_same(run, settings, tmp_path, monkeypatch):
    """Killed when five candidates were judged; then these are not judged again."""
    judged = []

    def killed(self, evidence):
        keep(self, evidence)
        judged.append(evidence.name)
        if len(judged) == 5:
            raise SystemExit("killed")

    keep = kept.KeptEvidence.keep
    monkeypatch.setattr(kept.KeptEvidence, "keep", killed)
    with pytest.raises(SystemExit, match="killed"):
        train(settings, tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(InputError, match="--resume"):
        TrainedRun(tmp_path / "run")

    again = []

    def watched(candidate, *arguments):
        again.append(candidate.name)
        return out_of_fold(candidate, *arguments)

    out_of_fold = choose.out_of_fold
    monkeypatch.setattr(choose, "out_of_fold", watched)
    resumed = train(settings, tmp_path / "run", resume=True)
    assert not set(judged) & set(again)
    assert again
    x = experiment_of(run).split.x_test
    np.testing.assert_allclose(resumed.probabilities(x), run.probabilities(x), atol=1e-12)
    rows, expected = ({r["name"]: r for r in one.choice["rows"]} for one in (resumed, run))
    for name, row in expected.items():
        same = {key: rows[name][key] for key in row if key != "seconds"}
        assert same == {key: row[key] for key in row if key != "seconds"}


def test_ctrl_c_takes_the_best_so_far(settings, tmp_path, monkeypatch):
    count = []

    def interrupted(candidate, *arguments):
        count.append(candidate)
        if len(count) == 4:
            raise KeyboardInterrupt
        return out_of_fold(candidate, *arguments)

    out_of_fold = choose.out_of_fold
    monkeypatch.setattr(choose, "out_of_fold", interrupted)
    run = train(settings, tmp_path / "run")
    notes = [row["note"] for row in run.choice["rows"]]
    assert notes.count("interrupted") >= 1
    assert len(run.blend.members) == 3
    assert run.folder.is_finished


def test_evidence_that_is_damaged_is_gathered_again(settings, run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run.folder.path, copy)
    record = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(record | {"status": "running"}))
    path = next((copy / "evidence").iterdir())
    path.write_bytes(path.read_bytes()[:100])
    resumed = train(settings, copy, resume=True)
    assert resumed.choice["sentence"] == run.choice["sentence"]
    assert path.stat().st_size > 100


@pytest.fixture(scope="module")
def with_m2(settings, tmp_path_factory):
    """The quickest candidates alone, and an M2 beside the answer."""
    from tfssl.settings import with_changes

    small = {"epochs": 3, "hidden_units": (10,), "latent_dim": 2, "supervised_steps": 10}
    auto = {"budget": 1.0, "with_generative": True}
    changed = with_changes(settings, auto=auto, m2=small)
    return train(changed, tmp_path_factory.mktemp("beside") / "run")


def test_a_generative_model_is_trained_beside_the_answer(with_m2):
    assert type(with_m2.generative("a map")).__name__ == "M2"
    metrics = with_m2.folder.read_json("metrics.json")
    assert "labelled_loss" in metrics["test"]["bounds"] or metrics["test"]["bounds"]
    assert set(with_m2.folder.read_json("history.json")) == {"m2"}


@pytest.mark.parametrize("setting", ["data.max_shift=1", "m1.run=somewhere"])
def test_settings_without_a_meaning_are_refused(setting):
    with pytest.raises(InputError, match="needs a model by name"):
        load_settings(None, ["model=auto", setting])


def test_the_budget_is_the_same_wherever_it_is_left_out():
    assert load_settings().auto.budget == choose.BUDGET


def test_training_alone_does_not_know_how_to_choose(settings, tmp_path):
    from tfssl.training.run import train as train_model

    with pytest.raises(InputError, match=r"Use tfssl.train"):
        train_model(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()
