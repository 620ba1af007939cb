"""The truncation benchmark still runs, in tiny sizes; a file of its own shares out the time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["mnist", "triples"])
def test_the_truncation_runs(name, tmp_path):
    command = [sys.executable, "-m", "benchmarks.truncation", "--run", name, "--tiny"]
    command += ["--seeds", "1", "--steps", "10", "--output", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads((tmp_path / f"{name}-0.json").read_text())["rows"]
    assert all(row["seconds_per_step"] > 0 and 0 <= row["test_error"] <= 100 for row in rows)
