"""Files are whole or not there."""

import json
import os
import stat

import pytest

from tfssl.errors import InputError
from tfssl.storage.files import atomic_path, write_json


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})

    def write_half():
        with atomic_path(path) as temporary:
            temporary.write_text('{"half')
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_half()
    assert json.loads(path.read_text()) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_write_replaces_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    write_json(path, {"new": 2})
    assert json.loads(path.read_text()) == {"new": 2}


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    """Whoever may write into a shared folder may guess names, and link them to others' files."""
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("mine")
    shared.mkdir()
    guesses = [f".tmp-{os.getpid()}-a.json", ".tmp-00-a.json"]
    for guess in guesses:
        (shared / guess).symlink_to(victim)
    write_json(shared / "a.json", {"new": 1})
    assert json.loads((shared / "a.json").read_text()) == {"new": 1}
    assert not (shared / "a.json").is_symlink()
    monkeypatch.setattr("secrets.token_hex", lambda _: "00")  # as if it had been guessed
    with pytest.raises(InputError, match=r"cannot write .*a\.json: File exists"):
        write_json(shared / "a.json", {"newer": 1})
    assert json.loads((shared / "a.json").read_text()) == {"new": 1}
    assert victim.read_text() == "mine"


def test_a_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o640
