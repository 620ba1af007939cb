"""Classify new inputs: python pipelines/predict.py runs/mine new.npz predictions.csv."""

import sys
from pathlib import Path

from tfssl import TrainedRun
from tfssl.data.new_inputs import read_new
from tfssl.runs.predictions_csv import check_output, write_csv

if __name__ == "__main__":
    run_dir, inputs, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    check_output(output)
    run = TrainedRun(run_dir)
    x, names = read_new(inputs, run.folder.schema())
    write_csv(
        output,
        run.calibrated_probabilities(x),
        run.class_names,
        names,
        calibrated=run.is_calibrated,
    )
