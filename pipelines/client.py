"""Classify images by a server: python pipelines/client.py URL IMAGES.npy.

URL is such as http://127.0.0.1:8501/v1/models/digits:predict, of `tfssl serve` or of TF Serving.
"""

import json
import sys
import urllib.request

import numpy as np


def classify(url, images):
    """One {"label_name", "probabilities", ...} per image, [N, ...] as they are stored."""
    body = json.dumps({"instances": images.tolist()}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["predictions"]


if __name__ == "__main__":
    for found in classify(sys.argv[1], np.load(sys.argv[2], allow_pickle=False)):
        print(found["label_name"], f"{max(found['probabilities']):.3f}")
