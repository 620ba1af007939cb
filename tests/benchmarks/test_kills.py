"""Killed processes: see benchmarks/robustness/kills.py, which kills many more."""

import json
import subprocess
import sys

import pytest


def kill(tmp_path, kind, kills):
    output = tmp_path / "kills.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.robustness.kills",
        "--only",
        kind,
        "--kills",
        str(kills),
    ]
    subprocess.run(
        [*command, "--output", str(output)], check=True, capture_output=True, timeout=600
    )
    result = json.loads(output.read_text())
    assert result["count"] == result["same_outcome"] == kills
    return result


def test_training_that_is_killed_goes_on_as_if_nothing_had_been(tmp_path):
    kill(tmp_path, "training", 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["export", "reproduce"])
def test_what_is_killed_leaves_no_trace(kind, tmp_path):
    kill(tmp_path, kind, 6)
