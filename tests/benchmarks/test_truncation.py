"""The truncation benchmark still runs, in tiny sizes; a file of its own shares out the time."""

import json

import pytest

from benchmarks.quality import truncation


@pytest.mark.parametrize("name", ["mnist", "triples"])
def test_the_truncation_runs(name, tmp_path):
    arguments = ["--run", name, "--tiny", "--seeds", "1", "--steps", "40"]
    truncation.main([*arguments, "--output", str(tmp_path)])
    rows = json.loads((tmp_path / f"{name}-0.json").read_text())["rows"]
    assert all(row["seconds_per_step"] > 0 and 0 <= row["test_error"] <= 100 for row in rows)
