import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tfssl.choice.pool import Pool


@pytest.fixture
def blobs():
    """Three clusters in four columns: x [240, 4] and y [240]."""
    x, y = make_blobs(240, 4, centers=3, cluster_std=2.0, random_state=1)
    return ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32), y


@pytest.fixture
def pool(blobs):
    """Six labels of each class, the others hidden."""
    return pool_of(*blobs, per_class=6)


def pool_of(x, y, per_class, **options):
    """A `Pool` with so many labels of each class."""
    rows = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in np.unique(y)])
    others = np.setdiff1d(np.arange(len(y)), rows)
    return Pool(x[rows], y[rows], x[others], len(np.unique(y)), **options)
