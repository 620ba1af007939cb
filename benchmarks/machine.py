"""What the times of a benchmark depend on."""

import os
import platform
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent


def machine():
    """The machine and the libraries, as plain JSON values."""
    names = ("tensorflow", "keras", "tensorflow-probability", "numpy")
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in names},
        "peers": (ROOT / "benchmarks/peers/requirements.txt").read_text().split(),
    }
