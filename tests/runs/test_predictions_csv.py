"""Predictions as a CSV file that a spreadsheet may open."""

import csv

import numpy as np
import pytest

from tfssl.results import suggestions
from tfssl.runs.predictions_csv import write_csv


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("x")', '\'=HYPERLINK("x")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("\t=1", "'\t=1"),
        ("-1", "-1"),
        ("+1.5", "+1.5"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_no_name_becomes_a_formula_and_numbers_stay(name, cell, tmp_path):
    write_csv(tmp_path / "p.csv", np.eye(2), (name, "other"), [name, "7"])
    rows = read(tmp_path / "p.csv")
    assert [row["label"] for row in rows] == [cell, "other"]
    assert [row["id"] for row in rows] == [cell, "7"]
    suggestion = {"rank": 1, "file": name, "likeliest": name, "gain": -0.5}
    suggestions.write_csv(tmp_path / "s.csv", [suggestion])
    (row,) = read(tmp_path / "s.csv")
    expected = {"rank": "1", "file": cell, "likeliest": cell, "gain": "-0.5", "label": ""}
    assert row == expected
