"""Estimate a run's log p(x) on test points: python pipelines/likelihood.py runs/mine 500."""

import json
import sys

from tfssl import TrainedRun
from tfssl.data.experiment import Experiment
from tfssl.training.run import estimate_likelihood

if __name__ == "__main__":
    run, num_samples = TrainedRun(sys.argv[1]), int(sys.argv[2])
    experiment = Experiment.of_run(run)
    metrics = estimate_likelihood(experiment, run.model, "test", 1000, num_samples)
    print(json.dumps(metrics, indent=2))
