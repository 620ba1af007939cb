"""The whole command line under generated abuse: see benchmarks/robustness/abuse.py."""

import pytest

from benchmarks.robustness import abuse
from tfssl import settings


def test_every_bad_case_ends_with_a_message():
    found = abuse.main(cases=400, seed=0)
    assert found["failures"] == []
    assert found["refused"] > 300
    assert len(found["by_kind"]) == len(abuse.KINDS)


@pytest.mark.slow
def test_thousands_of_bad_cases_end_with_a_message():
    assert abuse.main(cases=5000, seed=1)["failures"] == []


def test_a_traceback_would_be_seen(monkeypatch, tmp_path):
    (tmp_path / "run.json").write_text('{"format": 1}')
    monkeypatch.setattr(settings, "load_settings", lambda *_: 1 / 0)
    wrong = [abuse.run_case(number, 0, tmp_path)[3] for number in range(40)]
    assert any("ZeroDivisionError" in (text or "") for text in wrong)
