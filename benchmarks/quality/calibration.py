"""Are the probabilities better calibrated after temperature scaling? On test points of the digits.

  python -m benchmarks.quality.calibration

trains a run per method and seed, which fits its temperature without test points, and writes
calibration error and log-loss before and after to docs/results/calibration.
"""

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path

from tfssl.runs.metrics import classification_metrics
from tfssl.runs.opened import OpenedRun
from tfssl.settings import dump_settings, load_settings
from tfssl.storage.files import write_json
from tfssl.training.run import train

# M1's classifier is cross-fitted on the labels, M2 has points that are held out for it.
METHODS = {"m1": (), "m2": ("data.num_validation=200",)}


def measure(folder, model, seed, overrides=()):
    """Train a run into `folder` and calibrate it: the result as plain JSON values."""
    seeds = (f"seed={seed}", f"data.split_seed={seed}")
    settings = load_settings(None, [f"model={model}", *METHODS[model], *seeds, *overrides])
    train(settings, folder)
    subject = OpenedRun.open(folder)
    fitted = subject.run.calibration
    parts = subject.experiment.split
    raw = subject.run.probabilities(parts.x_test)
    return {
        "calibration": asdict(fitted),
        "before": classification_metrics(raw, parts.label_test),
        "after": classification_metrics(fitted(raw), parts.label_test),
        "settings": dump_settings(settings),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("docs/results/calibration"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for model in METHODS:
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                result = measure(Path(folder) / "run", model, seed)
            write_json(options.output / f"{model}_{seed}.json", result)


if __name__ == "__main__":
    main()
