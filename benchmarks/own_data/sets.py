"""The sets, and which half each belongs to: decided before there was any result.

TFSSL_DATA_DIR holds tables/*.npz (X, y, kinds), mnist.npz, fashion_mnist.npz and svhn_cropped.npz
(x_train, y_train); the others ship with scikit-learn or are generated.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfssl.errors import InputError, expect

SMALL = 9_000  # rows that are drawn from the large sets of images, with a fixed seed
NUMBER = "num"  # the kind of a column; any other is of categories


@dataclass(frozen=True)
class Kind:
    """What is known of a set before it is read.

    Attributes:
      half: "development" or "final".
      kind: "mixed table", "table", "text", "series", "images" or "generated".
      levels: the largest intensity of images; None for others.
      helped: whether unlabelled points can help: images, and classes that follow clusters.
    """

    half: str
    kind: str
    levels: int | None = None
    helped: bool = False


@dataclass(frozen=True)
class Data:
    """The rows of a set.

    Attributes:
      x: [n, d] numbers, or strings of a mixed table, of which "" is a missing value.
      y: [n] integers from 0.
      kinds: [d], "num" or "cat", of a mixed table; None for numbers.
    """

    x: np.ndarray
    y: np.ndarray
    kinds: np.ndarray | None = None


def _images(half, levels=255):
    return Kind(half, "images", levels, helped=True)


SETS = {
    "adult": Kind("development", "mixed table"),
    "heart": Kind("development", "mixed table"),
    "sms_tfidf": Kind("development", "text"),
    "usps": _images("development"),
    "coil20": _images("development", levels=1),
    "isolet": Kind("development", "table"),
    "segment": Kind("development", "table"),
    "iris": Kind("development", "table"),
    "breast_cancer": Kind("development", "table"),
    "mnist": _images("development"),
    "blobs": Kind("development", "generated", helped=True),
    "gauss": Kind("development", "generated"),
    "german": Kind("final", "mixed table"),
    "penguins": Kind("final", "mixed table"),
    "bbc_tfidf": Kind("final", "text"),
    "notmnist": _images("final"),
    "letter": Kind("final", "table"),
    "ecg5000": Kind("final", "series"),
    "wine": Kind("final", "table"),
    "digits": _images("final", levels=16),
    "fashion": _images("final"),
    "svhn": _images("final"),
    "moons": Kind("final", "generated", helped=True),
    "independent": Kind("final", "generated"),
}
HALVES = ("development", "final")
WITH_SCIKIT_LEARN = ("iris", "wine", "breast_cancer", "digits")
LARGE = {"mnist": "mnist", "fashion": "fashion_mnist", "svhn": "svhn_cropped"}


def of_half(half):
    """Names of the sets of a half."""
    return [name for name, kind in SETS.items() if kind.half == half]


def load(name):
    """The `Data` of a set."""
    if name in WITH_SCIKIT_LEARN:
        return _shipped(name)
    if name in GENERATED:
        return Data(*GENERATED[name](np.random.default_rng(7)))
    with np.load(path_of(name), allow_pickle=False) as arrays:
        if name in LARGE:
            rows = np.random.default_rng(0).permutation(len(arrays["y_train"]))[:SMALL]
            x = arrays["x_train"][rows]
            return Data(x.reshape(len(x), -1), arrays["y_train"][rows].astype(np.int64))
        x, y = arrays["X"], arrays["y"].astype(np.int64)
        return Data(x, y, arrays["kinds"] if x.dtype.kind in "US" else None)


def path_of(name):
    """The file of a set that is neither generated nor comes with scikit-learn."""
    folder = os.environ.get("TFSSL_DATA_DIR")
    expect(
        bool(folder),
        f"the set {name} must be in the folder that TFSSL_DATA_DIR names, which is not set",
        hint="It holds tables/*.npz, mnist.npz, fashion_mnist.npz and svhn_cropped.npz. "
        f"Without it, --sets {','.join([*WITH_SCIKIT_LEARN, *GENERATED])} can be run.",
    )
    path = Path(str(folder)) / (f"{LARGE[name]}.npz" if name in LARGE else f"tables/{name}.npz")
    if not path.exists():
        packed = name == "svhn" and path.with_name("unpack_svhn.py").exists()
        how = (
            f" Unpack it into that folder: python {path.with_name('unpack_svhn.py')} {folder}."
            if packed
            else ""
        )
        raise InputError(
            f"the set {name} is missing: there is no {path}.{how} Nothing is downloaded."
        )
    return path


def check_present(names):
    """Fail, before anything is run, unless the files of all these sets are there."""
    for name in names:
        if name not in WITH_SCIKIT_LEARN and name not in GENERATED:
            path_of(name)


def _shipped(name):
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    x = bunch.data.astype(np.uint8) if name == "digits" else bunch.data
    return Data(x, bunch.target.astype(np.int64))


def _blobs(rng):
    """Four classes of three clusters each, in 20 dimensions: the class follows the density."""
    centres = 2.2 * rng.normal(size=(12, 20))
    cluster = rng.integers(12, size=5000)
    return centres[cluster] + rng.normal(size=(5000, 20)), cluster % 4


def _gauss(rng):
    """One Gaussian, cut in two by a noisy plane: the density says nothing of the class."""
    x = rng.normal(size=(6000, 30))
    normal = rng.normal(size=30)
    noise = 0.06 * np.linalg.norm(normal) * rng.normal(size=6000)
    return x, (x @ normal + noise > 0).astype(np.int64)


def _moons(rng):
    """Two half circles: the class follows the density."""
    from sklearn.datasets import make_moons

    return make_moons(4000, noise=0.12, random_state=int(rng.integers(2**31)))


def _independent(rng):
    """Two clusters, and a class whose curved border cuts across both: the density misleads."""
    x = rng.normal(size=(5000, 10))
    x[:, 0] += 6 * rng.integers(2, size=5000)
    return x, (x[:, 1] + 0.5 * x[:, 2] ** 2 - 0.5 > 0).astype(np.int64)


GENERATED = {"blobs": _blobs, "gauss": _gauss, "moons": _moons, "independent": _independent}
