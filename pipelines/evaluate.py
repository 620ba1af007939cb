"""Measure a run again on its held-out points: python pipelines/evaluate.py runs/mine."""

import json
import sys

from tfssl import TrainedRun
from tfssl.runs.evaluation import evaluate
from tfssl.runs.opened import experiment_of

if __name__ == "__main__":
    run = TrainedRun(sys.argv[1])
    experiment = experiment_of(run)
    print(json.dumps(evaluate(experiment, run.probabilities, run.model), indent=2))
