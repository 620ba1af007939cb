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

    def k(a, b):
        return np.exp(-np.sum((a - b) ** 2) / (2 * width**2))

    taken, expected = list(known), []
    for _ in range(6):
        scores = [
            -1.0
            if i in [j for j, _ in expected]
            else uncertainty[i]
            * np.mean([k(x[i], other) for other in x])
            * (1 - max(k(x[i], other) for other in taken))
            for i in range(40)
        ]
        best = int(np.argmax(scores))
        expected.append((best, scores[best]))
        taken.append(x[best])
    chosen, scores = suggestions.choose(x, uncertainty, known, 6)
    np.testing.assert_array_equal(chosen, [i for i, _ in expected])
    np.testing.assert_allclose(scores, [score for _, score in expected], rtol=1e-6)


def test_it_wants_uncertain_typical_and_different_points(rng):
    left, right = rng.normal(0, 1, (50, 2)), rng.normal(20, 1, (50, 2))
    x = np.concatenate([left, right, [[200.0, 0.0]]])  # the last one is like no other
    uncertainty = np.ones(101)
    uncertainty[:25] = 0.01
    chosen, _ = suggestions.choose(x, uncertainty, [[-500.0, 0.0]], 8)
    assert len(set(chosen)) == 8
    assert min(chosen) >= 25
    assert 100 not in chosen
    assert 2 <= np.sum(chosen < 50) <= 6  # some of both groups
    chosen, _ = suggestions.choose(x, uncertainty, right, 4)
    assert np.sum(chosen < 50) >= 3  # the right group has labels already


def test_equal_points_and_no_uncertainty_still_give_as_many_as_asked_for():
    chosen, scores = suggestions.choose(np.ones((5, 2)), np.zeros(5), np.ones((1, 2)), 5)
    assert sorted(chosen) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(scores, 0.0)


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
