"""M2 as a candidate."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tests.choice.conftest import pool_of
from tfssl.blends.blend import class_probabilities
from tfssl.choice import networks
from tfssl.choice.networks import generative_candidates


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(networks, "CALLS", 4)


@pytest.fixture
def table():
    """Two numbers and a bit, which go with the class: x [300, 3] and y [300]."""
    x, y = make_blobs(300, 2, centers=[[-2, 0], [2, 0]], random_state=0)
    bit = np.random.default_rng(0).random(300) < np.where(y == 1, 0.9, 0.2)
    return np.column_stack([x, bit]).astype(np.float32), y


def test_one_network_serves_all_folds_and_the_answer_is_a_copy(table):
    x, y = table
    pool = pool_of(x, y, 5)
    candidate = generative_candidates(pool)[0]
    assert (candidate.name, candidate.view) == ("M2", "columns")
    every = np.arange(10)
    whole = candidate.fit(pool, every)
    seen = pool.views("columns", x)
    before = class_probabilities(whole, seen, 2)
    assert (before.argmax(axis=1) == y).mean() > 0.9
    fold = candidate.fit(pool, every[2:])
    assert candidate.fit(pool, every[1:]) is fold
    np.testing.assert_array_equal(class_probabilities(whole, seen, 2), before)
    again = candidate.fit(pool, every)
    np.testing.assert_array_equal(class_probabilities(again, seen, 2), before)


def test_bits_are_bits_and_numbers_are_gaussian(table):
    x, y = table
    pool = pool_of(x, y, 5)
    network = generative_candidates(pool)[1].fit(pool, np.arange(10))
    assert network.binary_columns == (2,)
    assert network.labelled_share == pytest.approx(10 / 11)


def test_pixels_are_for_m1(table):
    x, y = table
    assert generative_candidates(pool_of(np.abs(x) / 9, y, 5, levels=255)) == ()


def test_many_columns_are_seen_by_their_components(rng):
    x, y = rng.normal(size=(60, 400)).astype(np.float32), np.arange(60) % 2
    assert {c.view for c in generative_candidates(pool_of(x, y, 5))} == {"components"}
