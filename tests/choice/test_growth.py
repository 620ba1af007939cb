"""The learning curve: a power law through two errors."""

import numpy as np
import pytest

from tests.choice.conftest import pool_of
from tfssl.choice.candidates import SHALLOW
from tfssl.choice.growth import growth, power_law


def test_a_power_law_is_found_again():
    def error(n):
        return 2.0 * n**-0.5

    law = power_law(50, error(50), 80, error(80), count=10**9)
    assert law(200) == pytest.approx(error(200), rel=1e-6)


def test_more_labels_never_do_harm():
    assert power_law(50, 0.1, 80, 0.2, 100)(1000) == power_law(50, 0.1, 80, 0.2, 100)(100)


def test_more_labels_help_where_the_classes_are_clear(blobs):
    x, y = blobs
    found = growth(SHALLOW[:2], pool_of(x, y, 8))
    assert found.low <= found.expected <= found.high
    assert found.expected <= found.error
    assert "50 more labels" in str(found)


def test_too_few_labels_say_nothing(blobs):
    x, y = blobs
    assert growth(SHALLOW[:2], pool_of(x, y, 3)) is None
    assert growth([], pool_of(np.asarray(x), y, 8)) is None
