"""Measure a run again on its held-out points: python pipelines/evaluate.py runs/mine."""

import json
import sys

from tfssl import TrainedRun
from tfssl.data.experiment import Experiment
from tfssl.training.run import evaluate_experiment

if __name__ == "__main__":
    run = TrainedRun(sys.argv[1])
    experiment = Experiment.of_run(run)
    print(json.dumps(evaluate_experiment(experiment, run.model, run.classifier), indent=2))
