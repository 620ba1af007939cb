"""Data that have changed since a run was trained are refused, and it is said which part has."""

import re
import shutil

import numpy as np
import pytest

from tfssl.errors import InputError
from tfssl.runs.folder import RunFolder
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun
from tfssl.settings import load_settings
from tfssl.training.run import train


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the run, its .npz file, the arrays in it); all labels are used."""
    place, rng = tmp_path_factory.mktemp("changed"), np.random.default_rng(0)
    label = np.arange(80) % 2
    x = rng.normal(size=(80, 3)) + 3.0 * label[:, np.newaxis]
    label[:20] = -1
    np.savez(place / "data.npz", x=x, y=label)
    overrides = ["model=m2", "likelihood=gaussian", "m2.epochs=2", 'data.num_labelled="all"']
    overrides += ["data.num_validation=10", "data.num_test=20", f'data.name="{place}/data.npz"']
    return train(load_settings(None, overrides), place / "run"), place / "data.npz", (x, label)


@pytest.fixture
def restored(made):
    """What `made` has, and its file as it was afterwards."""
    yield made
    x, label = made[2]
    np.savez(made[1], x=x, y=label)


def change(part, made, what):
    """Change an input or a label of the first point of a part."""
    run, path, (x, label) = made
    x, label, rows = x.copy(), label.copy(), run.folder.split_rows()[part]
    if what == "x":
        x[rows[0], 0] += 1e-6
    elif what == "order":
        x[rows[:2]] = x[rows[:2][::-1]]
    else:
        label[rows[0]] = 1 - label[rows[0]]
    np.savez(path, x=x, y=label)


PARTS = ("labelled", "unlabelled", "validation", "test")
CHANGES = [(part, what) for part in PARTS for what in ("x", "order", "label")]
CHANGES.remove(("unlabelled", "label"))  # they have none


@pytest.mark.parametrize(("part", "what"), CHANGES)
def test_the_part_that_changed_is_named(part, what, restored):
    experiment_of(restored[0])
    change(part, restored, what)
    with pytest.raises(InputError, match=re.escape(f"changed=['{part}']") + ".*restore the data"):
        experiment_of(restored[0])


@pytest.mark.parametrize("command", ["evaluate", "calibrate", "report", "compare"])
def test_commands_refuse_changed_data(command, restored, call, tmp_path):
    runs = [restored[0].folder.path]
    if command == "compare":
        runs.append(shutil.copytree(runs[0], tmp_path / "copy"))
    change("validation", restored, "x")
    code, _, error = call(command, *runs)
    assert code == 2
    assert "changed=['validation']" in error


def test_a_run_is_not_continued_on_changed_data(restored, tmp_path):
    run = restored[0]
    shutil.copytree(run.folder.path, tmp_path / "cut")
    RunFolder(tmp_path / "cut").write_status("running", run.settings.seed)
    change("labelled", restored, "x")
    with pytest.raises(InputError, match=re.escape("changed=['labelled']")):
        train(run.settings, tmp_path / "cut", resume=True)


def test_runs_from_before_there_were_digests_open(restored, tmp_path):
    shutil.copytree(restored[0].folder.path, tmp_path / "old")
    folder = RunFolder(tmp_path / "old")
    folder.save_arrays("split.npz", **folder.split_rows())
    assert len(experiment_of(TrainedRun(folder.path)).split.x_test) == 20
    change("test", restored, "x")
    assert len(experiment_of(TrainedRun(folder.path)).split.x_test) == 20
