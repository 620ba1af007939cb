"""The order of minibatches is that of the models."""

from itertools import islice

import numpy as np
import pytest

from tfssl.classifiers.minibatches import LABELLED_STREAM, UNLABELLED_STREAM, shuffled
from tfssl.data import batches


@pytest.mark.parametrize(("seed", "size"), [(0, 4), (3, 10), (2**32 - 1, 25)])
def test_order_is_that_of_the_models(rng, seed, size):
    """Over several passes, with batches that reach into the next and that are larger than one."""
    x, label = rng.normal(size=(10, 2)).astype(np.float32), np.arange(10) % 3
    one_hot = np.eye(3, dtype=np.float32)[label]

    ours = shuffled((x, one_hot), size, (seed, LABELLED_STREAM))
    theirs = batches.semi_supervised((x, label), None, 3, (size, 0), seed)
    for (own_x, own_y), batch in islice(zip(ours, theirs, strict=True), 7):
        np.testing.assert_array_equal(own_x, batch["labelled"][0])
        np.testing.assert_array_equal(own_y, batch["labelled"][1])

    ours = shuffled((x,), size, (seed, UNLABELLED_STREAM))
    for (own_x,), batch in islice(zip(ours, batches.unlabelled(x, size, seed), strict=True), 7):
        np.testing.assert_array_equal(own_x, batch["unlabelled"])
