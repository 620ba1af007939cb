"""One process at a time, and a killed one blocks nobody."""

import os
import signal
import subprocess
import sys

import pytest

from tfssl.errors import InputError
from tfssl.storage.locks import locked

HOLDER = """
import sys, time
from tfssl.storage.locks import locked
with locked(sys.argv[1], "it"):
    print("held", flush=True)
    time.sleep(60)
"""


def try_lock(path):
    with locked(path, "it"):
        return True


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path):
    path = tmp_path / ".lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another process is working on it"):
            try_lock(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert path.exists()  # it was killed, so it could not tidy up
    assert try_lock(path)
    assert not path.exists()


def test_a_child_of_the_holder_does_not_keep_the_lock(tmp_path):
    path = tmp_path / ".lock"
    with locked(path, "it"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert try_lock(path)
    finally:
        child.kill()
        child.wait()


def test_a_lock_that_its_holder_removes_is_not_taken_twice(tmp_path, monkeypatch):
    """A second process opens the file, then the first lets go and removes it."""
    path = tmp_path / ".lock"
    real, opened = os.open, []

    def slow(*arguments, **options):
        file = real(*arguments, **options)
        opened.append(file)
        if len(opened) == 1:
            path.unlink()  # as the first process does now
        return file

    monkeypatch.setattr(os, "open", slow)
    with locked(path, "it"):
        monkeypatch.setattr(os, "open", real)
        assert len(opened) == 2
        assert path.exists()
        with pytest.raises(InputError, match="another process"):
            try_lock(path)


def test_a_folder_that_is_not_there_is_explained(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        try_lock(tmp_path / "none" / ".lock")


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / ".lock").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"cannot write .*\.lock"):
        try_lock(tmp_path / ".lock")
    assert not (tmp_path / "victim").exists()


def test_a_run_that_is_being_trained_is_refused(tmp_path):
    from tfssl.runs.folder import RunFolder
    from tfssl.settings import load_settings
    from tfssl.training.run import train

    settings = load_settings()
    folder = RunFolder.create(tmp_path / "run", settings)
    with folder.working(), pytest.raises(InputError, match="another process is working on the run"):
        train(settings, folder.path, resume=True)
    assert sorted(p.name for p in folder.path.iterdir()) == ["run.json", "settings.json"]


def test_what_a_process_left_that_was_killed_while_it_made_a_run_is_swept_away(tmp_path):
    from tfssl.runs.folder import RunFolder
    from tfssl.settings import load_settings

    (tmp_path / ".tmp-123-run").mkdir()
    (tmp_path / ".tmp-123-other").mkdir()  # another's
    folder = RunFolder.create(tmp_path / "run", load_settings())
    assert sorted(p.name for p in tmp_path.iterdir()) == [".tmp-123-other", "run"]
    (folder / ".tmp-123-model.keras").touch()
    with folder.working():
        assert sorted(p.name for p in folder.path.iterdir()) == [
            ".lock",
            "run.json",
            "settings.json",
        ]


def test_a_job_that_is_being_worked_on_is_refused_and_others_are_not(tmp_path):
    from tfssl.paper.jobs import Job, run_jobs

    def work():
        return {"test": {"error": 0.5}}

    one, other = (Job(name, name, {}, work) for name in ("one", "other"))
    with locked(tmp_path / ".one.lock", "one"):
        with pytest.raises(InputError, match="another process is working on one"):
            run_jobs([one], tmp_path, report=lambda _: None)
        assert len(run_jobs([other], tmp_path, report=lambda _: None)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["other.json"]
