"""Time tfssl against its peers and write the results for README: `make bench`.

  python -m benchmarks.speed                           everything, about 20 minutes on 2 idle cores
  python -m benchmarks.speed --only steps              one part
  python -m benchmarks.speed --tiny --output tiny      everything once, in tiny sizes, untimed

The peers in PyTorch live in an environment of their own (benchmarks/peers/requirements.txt);
without it only those in TensorFlow are timed. Whether training with truncated enumeration ends
where full enumeration ends takes real runs: benchmarks/quality/truncation.py.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.machine import ROOT, machine
from tfssl.storage.files import write_json

# Part -> repetitions.
PARTS = {"steps": 6, "fit": 2, "prediction": 7, "growth": 5, "cost": 15, "memory": 1}


def measure(part, rounds, tiny, peers_python):
    """The result of one part; a part's libraries are imported when its turn comes."""
    module = importlib.import_module(f"benchmarks.speed.{part}")
    if part == "steps":
        return module.measure(rounds, tiny, sys.executable, peers_python)
    return module.measure(rounds, tiny)


def main(arguments=None):
    """The command; `arguments` are a list of words, or None for those of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; may be repeated")
    parser.add_argument("--rounds", type=int, help="repetitions; each part has a default")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, one repetition")
    parser.add_argument(
        "--peers-python",
        type=Path,
        default=ROOT / ".venv-peers/bin/python",
        help="interpreter of the peers' environment (default: .venv-peers/bin/python)",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/speed")
    arguments = parser.parse_args(arguments)
    peers = str(arguments.peers_python) if arguments.peers_python.exists() else None
    arguments.output.mkdir(parents=True, exist_ok=True)
    for part in arguments.only or PARTS:
        rounds = 1 if arguments.tiny else arguments.rounds or PARTS[part]
        result = measure(part, rounds, arguments.tiny, peers)
        path = arguments.output / f"{part}.json"
        write_json(path, {"machine": machine(), "result": result})
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
