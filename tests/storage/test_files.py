"""Files are whole or not there."""

import json

import pytest

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
