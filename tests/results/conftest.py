"""Tiny real runs: images with names that try to break out of a page, and a table without a test."""

import numpy as np
import pytest

from tfssl.runs.temperature import FILE
from tfssl.settings import load_settings
from tfssl.training.run import train

CLASSES = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', r"$title & \frac$")
SMALL = [
    "m1.epochs=2",
    "m2.epochs=2",
    "m1.hidden_units=[10]",
    "m2.hidden_units=[10]",
    "m1.latent_dim=3",
    "m2.latent_dim=2",
    "m2.supervised_steps=20",
    "m1.classifier=svm",
]


def train_small(folder, *overrides):
    return train(load_settings(None, [*SMALL, *overrides]), folder).folder.path


@pytest.fixture(scope="session")
def class_names():
    return CLASSES


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Settings for 120 colour images of 6 x 5 pixels in 3 classes that are easy to tell apart."""
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    label = np.arange(120) % 3
    x = rng.integers(0, 150, (120, 6, 5, 3)) + 60 * np.eye(3, dtype=int)[label][:, None, None]
    path = folder / "<b>'data'.npz"
    np.savez(path, x=x.astype(np.uint8), y=label, class_names=CLASSES)
    sizes = ["data.num_labelled=12", "data.num_test=40", "likelihood=bernoulli"]
    return [f"data.name={path}", *sizes]


@pytest.fixture(scope="session")
def image_run(images, tmp_path_factory):
    """M1 with an SVM, without validation points."""
    return train_small(tmp_path_factory.mktemp("runs") / "<i>run", "model=m1", *images)


@pytest.fixture(scope="session")
def other_run(images, tmp_path_factory):
    """M2 on the same split, without validation points."""
    return train_small(tmp_path_factory.mktemp("runs") / "m2", "model=m2", *images)


@pytest.fixture(scope="session")
def table_run(tmp_path_factory):
    """M2 on features that are not images, with validation but without test points."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    x = rng.normal(size=(60, 4)) + 2 * (np.arange(60) % 2)[:, np.newaxis]
    np.savez(folder / "data.npz", x=x, y=np.arange(60) % 2)
    data = [f"data.name={folder / 'data.npz'}", "data.num_labelled=10", "data.num_test=0"]
    sizes = ["data.num_validation=20", "likelihood=gaussian"]
    return train_small(folder / "run", "model=m2", *data, *sizes)


@pytest.fixture
def copied_run(image_run, tmp_path):
    """A run of its own, to be damaged; not calibrated, as older runs are."""
    copy = tmp_path / "run"
    copy.mkdir()
    for path in image_run.iterdir():
        if path.is_file() and path.name != FILE:
            (copy / path.name).write_bytes(path.read_bytes())
    return copy
