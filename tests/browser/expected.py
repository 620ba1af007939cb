"""Print what Keras says of the test images in a demo.json: their class probabilities.

Call it as `python expected.py RUN < demo.json`.
"""

import json
import sys

import numpy as np

from tfssl.runs.trained import TrainedRun

run = TrainedRun(sys.argv[1])
samples = json.load(sys.stdin)["samples"]
images = np.array([sample["pixels"] for sample in samples], np.uint8)
images = images.reshape(-1, *run.preprocessing.shape)
json.dump(np.asarray(run.calibrated_probabilities(images)).tolist(), sys.stdout)
