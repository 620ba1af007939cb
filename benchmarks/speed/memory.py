"""Memory of a `fit` on as many images as MNIST has: its peak, and whether it grows with the epochs.

Run in a process of its own: `python -m benchmarks.speed.memory [--tiny]` prints the result as JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import psutil

from benchmarks.speed import fit
from tfssl.settings import load_settings

EPOCHS = 9


class Memory(keras.callbacks.Callback):
    """Notes the memory in use after every epoch, in MB."""

    def __init__(self):
        super().__init__()
        self.megabytes = []

    def on_epoch_end(self, epoch, logs=None):
        self.megabytes.append(psutil.Process().memory_info().rss / 1e6)


def run(tiny):
    """Fit M2 with 100 + 1000 examples a step, validation and TensorBoard included."""
    overrides = [*fit.SHARED, *fit.CASES["m2_100_1000"], f"m2.epochs={EPOCHS}"]
    overrides += ["data.num_validation=100", "m2.evaluate_every=1"]
    settings = load_settings(None, overrides)
    source = fit.random_images(600 if tiny else fit.NUM_EXAMPLES)
    megabytes = fit.train(settings, source, lambda _: Memory()).megabytes
    # The first epochs fill caches and pools; growth is what happens after.
    later = megabytes[EPOCHS // 3 :]
    slope = float(np.polyfit(range(len(later)), later, 1)[0])
    return {
        "data_megabytes": source.x.nbytes / 1e6,
        "peak_megabytes": peak_megabytes(),
        "after_each_epoch": megabytes,
        "growth_per_epoch": slope,
    }


def peak_megabytes():
    """The most memory this process ever had; getrusage would count what its parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) * 1024 / 1e6


def measure(rounds, tiny):
    """The result of `run` in a new process; once is enough."""
    arguments = ["--tiny"] if tiny else []
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.memory", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(run("--tiny" in sys.argv)))
