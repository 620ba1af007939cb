"""Drawing: pixels where they belong, captions outside, files of bounded size."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from tfssl.pictures import drawing


@pytest.mark.parametrize("channels", [1, 3])
def test_every_tile_is_its_image_magnified(channels, rng, grid_tile):
    images = rng.uniform(size=(2, 3, 8, 6, channels))
    picture = drawing.grid(images, ["a", "b", "c"], ["first", "second"], "title")
    for row, column in np.ndindex(2, 3):
        expected = np.kron(images[row, column], np.ones((7, 7, 1)))  # 56 // 8
        got = grid_tile(picture, (2, 3, 56, 42), row, column).reshape(56, 42, channels)
        np.testing.assert_allclose(got / 255, expected, atol=0.5 / 255)
    assert picture.mode == {1: "L", 3: "RGB"}[channels]


def test_without_captions_there_are_margins_and_gaps_only(rng):
    picture = drawing.grid(rng.uniform(size=(4, 2, 60, 60, 1)))
    assert picture.size == (2 * 60 + 1 + 16, 4 * 60 + 3 + 16)


def test_captions_take_space_and_leave_the_tiles_alone(grid_tile):
    images = np.ones((1, 2, 8, 8, 1))
    bare = drawing.grid(images)
    for options in ({"columns": ["a", "b"]}, {"rows": ["a"]}, {"title": "a"}):
        picture = drawing.grid(images, **options)
        assert np.prod(picture.size) > np.prod(bare.size)
        dark = np.argwhere(np.asarray(picture) < 128)
        assert len(dark) > 0
        for column in range(2):
            assert grid_tile(picture, (1, 2, 56, 56), 0, column).min() == 255


def test_a_caption_wider_than_its_tile_is_cut():
    images = np.ones((1, 2, 8, 8, 1))
    long = np.asarray(drawing.grid(images, ["W" * 50, ""]))
    assert long.min() < 128
    assert (
        long[:, drawing.MARGIN + 56 + drawing.GAP :].min() == 255
    )  # nothing over the second column
    assert drawing.grid(images, ["two\nlines", ""]).size == drawing.grid(images, ["a", ""]).size


def test_reduction_takes_means_of_squares():
    image = np.arange(20.0).reshape(1, 1, 4, 5, 1)
    got = drawing.reduced(image, 2)[0, 0, ..., 0]
    expected = [[(0 + 1 + 5 + 6) / 4, (2 + 3 + 7 + 8) / 4], [13.0, 15.0]]
    np.testing.assert_allclose(got, expected)


def test_a_file_stays_small_whatever_the_images(rng, tmp_path):
    """Noise cannot be compressed: 10 x 11 colour images of 64 x 64 would take 1.3 MB."""
    drawing.write_grid(tmp_path / "a.png", rng.uniform(size=(10, 11, 64, 64, 3)))
    assert (tmp_path / "a.png").stat().st_size <= drawing.MAX_BYTES
    with Image.open(tmp_path / "a.png") as picture:
        picture.load()
        assert min(picture.size) > 10 * drawing.TILE / 2  # reduced, then magnified again
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_curves_show_every_epoch_and_validation_where_it_is():
    history = {
        "m1": [{"loss": 3.0, "kl_z": 1.0}, {"loss": 2.0, "kl_z": 1.5, "val_loss": 2.5}],
        "m2": [{"loss": 5.0, "error": 0.5, "val_loss": 6.0, "val_error": 0.25}],
    }
    axes = drawing.curves(history).get_axes()
    lines = [
        {line.get_label(): np.array(line.get_xydata()).tolist() for line in ax.get_lines()}
        for ax in axes
    ]
    assert lines == [
        {"training": [[1, 3], [2, 2]], "validation": [[2, 2.5]]},
        {"training": [[1, 1], [2, 1.5]]},
        {"training": [[1, 5]], "validation": [[1, 6]]},
        {"training": [[1, 50]], "validation": [[1, 25]]},
    ]
    assert [ax.get_title() for ax in axes][::2] == ["M1: loss", "M2: loss"]


@pytest.mark.parametrize("count", [3, 15, 40])
def test_a_map_colours_points_by_class(count, rng):
    points, label = rng.normal(size=(count, 2)), np.arange(count)[::-1]
    names = [f"class {k}" for k in range(count)]
    (axes,) = drawing.class_map(points, label, names, "title").get_axes()
    drawn = {c.get_label(): c for c in axes.collections}
    assert list(drawn) == names
    for k in range(count):
        np.testing.assert_allclose(drawn[names[k]].get_offsets(), points[label == k])
    colours = {to_rgb(c.get_facecolor()[0]) for c in drawn.values()}
    assert len(colours) == count
    assert (axes.get_legend() is None) == (count > drawing.MAX_NAMED)
