"""Digests tell one set of points from another, from disk as from memory."""

import numpy as np
import pytest

from tfssl.data import digests
from tfssl.data.digests import digest
from tfssl.data.on_disk import Rows


def test_every_value_label_and_place_counts(rng):
    x, label = rng.normal(size=(2500, 3)), rng.integers(0, 2, size=2500)
    found = {digest(x, label), digest(x), digest(x.astype(np.float32), label), digest(x[1:], label)}
    found |= {digest(x.reshape(-1, 3, 1), label), digest(x[::-1], label), digest(x, label[::-1])}
    for row in (0, 1234, 2499):
        changed, flipped = x.copy(), label.copy()
        changed[row, 2] += 1e-9
        flipped[row] = 1 - flipped[row]
        found |= {digest(changed, label), digest(x, flipped)}
    assert len(found) == 13
    assert digest(x.copy(), label.astype(np.int32)) == digest(x, label)


def test_of_large_inputs_evenly_spread_rows_are_read(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.arange(4000, dtype=np.int64).reshape(1000, 4))
    on_disk = np.load(tmp_path / "x.npy", mmap_mode="r")
    numbers = np.arange(1000)[::-1]
    whole = digest(Rows(on_disk, numbers))
    assert whole == digest(np.array(on_disk)[numbers])
    monkeypatch.setattr(digests, "BYTES", 10 * 4 * 8)
    read = []

    class Counted(Rows):
        def __getitem__(self, index):
            read.extend(index)
            return super().__getitem__(index)

    part = digest(Counted(on_disk, numbers))
    assert read == list(range(0, 1000, 100))
    assert part == digest(np.array(on_disk)[numbers])
    other = np.array(on_disk)[numbers]
    other[500] = 0
    assert digest(other) != part


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_has_a_digest_too(shape):
    assert len(digest(np.empty(shape))) == 32
