"""What `make check` runs: the tests of what changed, and no longer than it is given."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS_OF = runpy.run_path(str(ROOT / ".ci" / "changed_tests"))["tests_of"]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("tfssl/storage/files.py", {"tests/storage/test_files.py"}),
        ("tfssl/estimator.py", {"tests/test_estimator.py"}),
        ("tests/storage/test_locks.py", {"tests/storage/test_locks.py"}),
        ("docs/speed.md", {"tests/test_readme.py"}),
        ("tests/conftest.py", set()),
        ("Makefile", set()),
    ],
)
def test_a_changed_file_has_its_tests(changed, expected, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert TESTS_OF(Path(changed)) == {Path(name) for name in expected}


def test_without_a_mirror_those_that_import_it_or_the_whole_room(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("tests/room").mkdir(parents=True)
    one, other = Path("tests/room/test_one.py"), Path("tests/room/test_other.py")
    one.write_text("from tfssl.room import part\n")
    other.write_text("# part\nfrom tfssl.room.parts import x\n")
    assert TESTS_OF(Path("tfssl/room/part.py")) == {one}
    assert TESTS_OF(Path("tfssl/room/unnamed.py")) == {one, other}


@pytest.mark.parametrize(("within", "counts"), [("0", {"skipped": 1}), ("60", {"passed": 1})])
def test_what_begins_too_late_is_skipped(within, counts, pytester):
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess("--within", within).assert_outcomes(**counts)
