"""Make the data of docs/own_data.md: python pipelines/own_data.py fashion FOLDER.

fashion: pictures of Fashion-MNIST (fashion_mnist.npz in TFSSL_DATA_DIR, or TensorFlow Datasets) in
class folders, 10 of each class, with 10,000 more in unlabelled/ and 2,000 in test/. wine and
breast_cancer: scikit-learn's tables as FOLDER/wine.csv and FOLDER/breast_cancer.csv.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn import datasets

from tfssl.data.loading import load_source

LABELS_PER_CLASS, UNLABELLED, TEST = 10, 10_000, 2_000
GARMENTS = ["top", "trouser", "pullover", "dress", "coat"]
GARMENTS += ["sandal", "shirt", "sneaker", "bag", "boot"]


def write_fashion(folder, seed=0):
    """Class folders, unlabelled/ and test/ under `folder`, which must not exist."""
    source, rng = load_source("fashion_mnist"), np.random.default_rng(seed)
    order = rng.permutation(len(source.x))
    by_class = [order[source.label[order] == k][:LABELS_PER_CLASS] for k in range(len(GARMENTS))]
    rest = np.setdiff1d(order, np.concatenate(by_class))
    places = [(row, GARMENTS[k]) for k, rows in enumerate(by_class) for row in rows]
    places += [(row, "unlabelled") for row in rng.choice(rest, UNLABELLED, replace=False)]
    for row, place in places:
        save(folder / place / f"{row}.png", source.x[row])
    for row in rng.choice(len(source.x_test), TEST, replace=False):
        place = folder / "test" / GARMENTS[source.label_test[row]]
        save(place / f"{row}.png", source.x_test[row])


def save(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)


def write_table(path, table):
    """A table of scikit-learn with its column names, the class in the column `label`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*table.feature_names, "label"])
        for x, k in zip(table.data, table.target, strict=True):
            writer.writerow([*x, table.target_names[k]])


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "fashion":
        write_fashion(folder)
    else:
        tables = {"wine": datasets.load_wine, "breast_cancer": datasets.load_breast_cancer}
        write_table(folder / f"{what}.csv", tables[what]())
