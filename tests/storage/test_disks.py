"""Disks that are full or may not be written: a message, exit code 2, and earlier data intact."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.robustness.abuse import call
from tfssl.runs.folder import read_json
from tfssl.runs.trained import TrainedRun

SMALL = [
    *("--set=model=m2", "--set=m2.epochs=3", "--set=m2.hidden_units=[40]", "--set=m2.latent_dim=5"),
    *("--set=m2.supervised_steps=2", "--set=checkpoint_seconds=0"),
]


@pytest.fixture
def disk():
    """A disk of 2 MB, and a function that mounts it again with other options."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root")
    with tempfile.TemporaryDirectory(prefix="tfssl-disk-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        try:
            yield (
                Path(folder),
                lambda options: subprocess.run(
                    ["mount", "-o", f"remount,{options}", folder], check=True
                ),
            )
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an undisturbed run leaves."""
    folder = tmp_path_factory.mktemp("disks") / "whole"
    code, printed = call(["train", "--run-dir", folder, *SMALL])
    assert code == 0, printed
    return TrainedRun(folder)


def contents(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def fill(folder, leave):
    """Fill a disk up to `leave` bytes."""
    free = os.statvfs(folder)
    (folder / "ballast").write_bytes(b"\0" * max(0, free.f_bavail * free.f_frsize - leave))


def test_a_run_that_fills_the_disk_says_so_and_goes_on_when_there_is_room(disk, whole):
    folder, remount = disk
    fill(folder, leave=200_000)  # enough to start, too little for a checkpoint
    code, printed = call(["train", "--run-dir", folder / "run", *SMALL])
    assert (code, "No space left on device" in printed) == (2, True), printed
    assert "Traceback" not in printed
    for path in (folder / "run").rglob("*.json"):
        read_json(path)
    assert not list((folder / "run").rglob(".tmp-*"))
    remount("size=10m")
    code, printed = call(["train", "--run-dir", folder / "run", *SMALL, "--resume"])
    assert code == 0, printed
    resumed = TrainedRun(folder / "run")
    for a, b in zip(resumed.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_full_disk_keeps_what_was_there(disk, whole, tmp_path):
    folder, _ = disk
    (folder / "model").mkdir()
    (folder / "model" / "mine").write_text("mine")
    fill(folder, leave=8_192)
    before = contents(folder)
    np.save(tmp_path / "x.npy", np.zeros((5000, 8, 8), np.uint8))
    run = whole.folder.path
    for arguments in (
        ["predict", run, tmp_path / "x.npy", "--output", folder / "p.csv"],
        ["figures", run, "--to", folder / "figures"],
        ["train", "--run-dir", folder / "run", *SMALL],
        ["export", run, "--to", folder, "--name", "model"],
    ):
        code, printed = call(arguments)
        assert (code, "Traceback" in printed) == (2, False), (arguments, printed)
        assert "No space left on device" in printed, (arguments, printed)
        left = {p: c for p, c in contents(folder).items() if "run" not in p.parts}
        assert left == before, arguments


def test_a_folder_that_may_not_be_written_is_explained(disk, whole, tmp_path):
    folder, remount = disk
    (folder / "results").mkdir()
    (folder / "mine").write_text("mine")
    shutil.copytree(whole.folder.path, folder / "run")
    before = contents(folder)
    remount("ro")
    np.save(tmp_path / "x.npy", np.zeros((5, 8, 8), np.uint8))
    run = whole.folder.path
    for arguments in (
        ["train", "--run-dir", folder / "other", *SMALL],
        ["predict", run, tmp_path / "x.npy", "--output", folder / "p.csv"],
        ["figures", run, "--to", folder / "figures"],
        ["likelihood", folder / "run", "--samples", 1, "--points", 2],
        ["export", run, "--to", folder / "models"],
        ["study", "--dir", folder, "--splits", 1],
    ):
        code, printed = call(arguments)
        assert (code, "Traceback" in printed) == (2, False), (arguments, printed)
        assert "Read-only file system" in printed, (arguments, printed)
    # What needs no writing works.
    for arguments in (["evaluate", folder / "run"], ["train", "--run-dir", folder / "run", *SMALL]):
        words = [*arguments, "--resume"] if arguments[0] == "train" else arguments
        code, printed = call(words)
        assert code == 0, (arguments, printed)
    assert contents(folder) == before
