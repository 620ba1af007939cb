"""A blend with every kind of member on a few digits, fitted once."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tfssl.blends.blend import Blend, Member
from tfssl.choice.candidates import SHALLOW
from tfssl.choice.pool import Pool
from tfssl.models import M1, M2

LABELLED, POINTS, CLASSES = 90, 400, 10


@pytest.fixture(scope="session")
def pixels():
    """Intensities [1797, 64], and labels."""
    x, label = load_digits(return_X_y=True)
    return (x / 16.0).astype(np.float32), label


@pytest.fixture(scope="session")
def pool(pixels):
    x, label = pixels
    return Pool(x[:LABELLED], label[:LABELLED], x[LABELLED:POINTS], CLASSES, levels=255)


@pytest.fixture(scope="session")
def blend(pool):
    """Every shallow candidate, an M2 and a TSVM on the latents of an M1, with unequal weights."""
    rows = np.arange(LABELLED)
    parts = [(c.name, c.view, c.fit(pool, rows)) for c in SHALLOW]
    parts.append(("M2", "plain", M2(64, CLASSES, LABELLED, POINTS, 2, (8,), "bernoulli", seed=1)))
    active = np.array([0, 2, 3])
    views = pool.views.with_m1(M1(64, 4, (8,), "bernoulli", seed=2), active)
    tsvm = next(c for c in SHALLOW if c.name == "TSVM").make(0)
    label = np.append(pool.label, np.full(POINTS - LABELLED, -1))
    parts.append(("M1+TSVM", "latents", tsvm.fit(views("latents", pool.x), label)))
    weights = np.arange(1.0, len(parts) + 1) / sum(range(1, len(parts) + 1))
    temperatures = np.linspace(0.5, 2.0, len(parts))
    members = tuple(
        Member(*part, temperature=float(t), weight=float(w))
        for part, t, w in zip(parts, temperatures, weights, strict=True)
    )
    shares = np.arange(1.0, CLASSES + 1) / sum(range(1, CLASSES + 1))
    return Blend(members, views, 0.8, shares, np.full(CLASSES, 1.0 / CLASSES))
