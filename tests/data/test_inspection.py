"""What `inspect` finds is what was put there."""

import numpy as np
import pytest
from PIL import Image

from tfssl.data.inspection import inspect
from tfssl.data.loading import load_source
from tfssl.data.source import Source
from tfssl.errors import InputError
from tfssl.pictures.of_data import contact_sheet


def make_source(x, label, x_test, label_test, levels=None):
    return Source("mine", x, np.array(label), x_test, np.array(label_test), ("a", "b"), levels)


def test_counts_ranges_and_duplicates(rng):
    x = rng.normal(size=(8, 3))
    x[:, 2] = 5.0
    x[0] = [-9, 0, 5]
    x[5] = x[1]  # unlabelled like labelled
    x[3] = x[2]  # of another class
    x[7] = x[6]
    x_test = np.stack([x[0], x[6], x[0] + 1])
    found = inspect(make_source(x, [0, 0, 0, 1, -1, -1, -1, -1], x_test, [0, 1, 1]))
    assert found.points == {"labelled": 4, "unlabelled": 4, "test": 3}
    assert found.classes == {"a": (3, 1), "b": (1, 2)}
    assert (found.low, found.high) == (-9, max(5, x.max()))
    assert found.duplicates == {
        "labelled in unlabelled": 1,
        "test in labelled": 1,
        "test in unlabelled": 1,
        "labelled twice": 1,
        "unlabelled twice": 1,
    }
    assert found.conflicts == 2
    assert found.near_constant == [2]
    text = " ".join(found.warnings)
    assert "unbalanced: 1 to 3 labels" in text
    assert "2 test points are also training points" in text
    assert "2 labelled points equal another one" in text


def test_a_clean_set_has_no_warnings(rng):
    x = rng.normal(size=(40, 3))
    found = inspect(make_source(x, [0, 1] * 10 + [-1] * 20, x[:0], []))
    assert found.warnings == []
    assert found.near_constant == []
    assert sum(found.duplicates.values()) == found.conflicts == 0


def test_a_column_that_counts_rows_is_named(tmp_path, rng):
    rows = "".join(f"{i + 7},{rng.normal()},{'ab'[i % 2]}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("id,x,label\n" + rows)
    found = inspect(load_source(str(tmp_path / "t.csv")))
    assert found.row_numbers == ["id"]
    assert any("id only counts the rows" in warning for warning in found.warnings)


def test_contact_sheet_shows_every_class(tmp_path, rng, grid_tile):
    x = rng.integers(0, 256, size=(30, 8, 8)).astype(np.uint8)
    source = make_source(x, [0] * 3 + [1] * 2 + [-1] * 25, x[:0], [], levels=255)
    contact_sheet(tmp_path / "sheet.png", source)
    with Image.open(tmp_path / "sheet.png") as picture:
        tile = grid_tile(picture, (3, 12, 56, 56), row=2, column=1)
        np.testing.assert_array_equal(tile[::7, ::7], x[4])
    with pytest.raises(InputError, match="needs images"):
        contact_sheet(tmp_path / "no.png", make_source(x[:, 0] / 2, [0, 1] * 15, x[:0, 0], []))
