"""Estimate a run's log p(x) on test points: python pipelines/likelihood.py runs/mine 500."""

import json
import sys

from tfssl import TrainedRun
from tfssl.runs.evaluation import estimate_likelihood
from tfssl.runs.opened import experiment_of

if __name__ == "__main__":
    run, num_samples = TrainedRun(sys.argv[1]), int(sys.argv[2])
    experiment = experiment_of(run)
    model = run.generative("a log-likelihood")
    metrics = estimate_likelihood(experiment, model, "test", 1000, num_samples)
    print(json.dumps(metrics, indent=2))
