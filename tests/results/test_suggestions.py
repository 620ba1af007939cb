"""What to label next: the formula by a plain loop, its three factors one by one, and the files."""

import csv

import numpy as np
import pytest
from PIL import Image

from tfssl.errors import InputError
from tfssl.results import suggestions

FILES = ("suggestions.csv", "suggestions.png")


def test_the_choice_equals_a_plain_loop(rng):
    x, known = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    uncertainty = rng.uniform(size=40)
    tenth = [np.sort(np.linalg.norm(x - point, axis=1))[10] for point in x]
    width = np.median(tenth)

    def covered(points, u):
        return max(np.exp(-np.sum((u - s) ** 2) / (2 * width**2)) for s in points)

    def value(points):
        """The uncertainty that the points cover."""
        return sum(h * covered(points, u) for h, u in zip(uncertainty, x, strict=True))

    taken, expected, gains = list(known), [], []
    for _ in range(6):
        gain = [value([*taken, point]) - value(taken) for point in x]
        expected.append(int(np.argmax(gain)))
        gains.append(max(gain) / uncertainty.sum())
        taken.append(x[expected[-1]])
    chosen, scores = suggestions.choose(x, uncertainty, known, 6)
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_allclose(scores, gains, rtol=1e-6)


def test_it_wants_uncertain_typical_and_different_points(rng):
    left, right = rng.normal(0, 1, (50, 2)), rng.normal(20, 1, (50, 2))
    x = np.concatenate([left, right, [[200.0, 0.0]]])  # the last one is like no other
    far, uncertainty = [[-500.0, 0.0]], np.ones(101)
    chosen, gains = suggestions.choose(x, uncertainty, far, 8)
    assert len(set(chosen)) == 8
    assert 100 not in chosen
    assert 2 <= np.sum(chosen < 50) <= 6  # some of both groups
    assert all(np.diff(gains) <= 0)
    chosen, _ = suggestions.choose(x, uncertainty, right, 4)
    assert np.sum(chosen < 50) == 4  # the right group has labels already
    uncertainty[:50] = 0.01
    chosen, _ = suggestions.choose(x, uncertainty, far, 4)
    assert np.sum((chosen >= 50) & (chosen < 100)) == 4


def test_of_many_points_the_uncertain_are_drawn(rng, monkeypatch):
    monkeypatch.setattr(suggestions, "MAX_POOL", 50)
    x, uncertainty = rng.normal(size=(2000, 2)), np.repeat([0.0, 1.0], 1000)
    chosen, _ = suggestions.choose(x, uncertainty, x[:1], 5)
    assert len(set(chosen)) == 5
    assert min(chosen) >= 1000
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    first = [suggestions.drawn(weights, 1, rng)[0] for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 4000, weights / 8, atol=0.03)


def test_equal_points_and_no_uncertainty_still_give_as_many_as_asked_for():
    chosen, gains = suggestions.choose(np.ones((5, 2)), np.zeros(5), np.ones((1, 2)), 5)
    assert sorted(chosen) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(gains, 0.0)


@pytest.mark.parametrize("count", [0, 6])
def test_the_count_must_fit(count):
    with pytest.raises(InputError, match="number of suggestions"):
        suggestions.choose(np.ones((5, 2)), np.ones(5), np.ones((1, 2)), count)


def test_the_command_writes_a_table_and_a_sheet(image_run, tmp_path, call):
    code, output, error = call("suggest", image_run, "-n", 13, "--to", tmp_path)
    assert code == 0, error
    assert "13 points to label" in output
    with open(tmp_path / "suggestions.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == [str(i) for i in range(1, 14)]
    with np.load(image_run / "split.npz") as split:
        numbers = {int(row["row"]) for row in rows}
        assert len(numbers) == 13
        assert numbers <= set(split["unlabelled"])
    assert {row["label"] for row in rows} == {""}
    with Image.open(tmp_path / "suggestions.png") as sheet:
        assert sheet.width > 10 * 45
        assert sheet.height > 2 * 54

    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    code, _, error = call("suggest", image_run, "--to", tmp_path)
    assert (code, "must not exist yet" in error) == (2, True)
    assert before == {name: (tmp_path / name).read_bytes() for name in FILES}


def test_of_features_there_is_no_sheet(table_run, tmp_path, call):
    code, _, error = call("suggest", table_run, "-n", 3, "--to", tmp_path)
    assert code == 0, error
    assert [path.name for path in tmp_path.iterdir()] == ["suggestions.csv"]


@pytest.mark.parametrize("options", [("-n", 0), ("-n", 1000), ("--to", "nowhere")])
def test_bad_options_exit_with_2_and_write_nothing(options, image_run, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, _ = call("suggest", image_run, *options)
    assert code == 2
    assert list(tmp_path.iterdir()) == []
