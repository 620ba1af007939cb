"""One process at a time, and a killed one blocks nobody."""

import os
import signal
import subprocess
import sys

import pytest

from tfssl.errors import InputError
from tfssl.locks import locked

HOLDER = """
import sys, time
from tfssl.locks import locked
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
