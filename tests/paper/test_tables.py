"""Our results beside the paper's."""

import pytest

from tfssl.paper import tables

TABLE = tables.PaperTable(
    "Table 0: digits",
    "digits",
    (20, 30),
    {"knn": (50.0, 40.0), "m1_tsvm": (None, 30.0), "m2": (20.0, 20.0), "m1_m2": (10.0, 10.0)},
)


def test_the_table_reads_ours_beside_the_papers():
    def result(method, labels, split, error):
        test = {"error": error}
        return {
            "method": method,
            "labels": {"training": labels},
            "split": split,
            "test": test,
            "seconds": 4.0,
            "training_seconds": {"m2": 3.0},
            "selected": {"test": {"error": error / 2}},
        }

    results = [result("m2", 20, 0, 0.1), result("m2", 20, 1, 0.2), result("m1_m2", 30, 0, 0.03)]
    header, lines = tables.rows(TABLE, results)
    assert header == ["method", "20 labels", "paper", "30 labels", "paper"]
    assert lines[1] == ["M1+TSVM", "-", "-", "-", "30.00"]
    assert lines[2] == ["M2", "15.00 ± 63.53 (2)", "20.00", "-", "20.00"]  # t = 12.706, s.e. 5
    assert lines[3] == ["M1+M2", "-", "10.00", "3.00 (1)", "10.00"]
    summary = tables.summarise(results)["m2", 20]
    assert (summary.selected, summary.seconds, summary.splits) == (pytest.approx(7.5), 3.0, 2)


def test_a_part_keeps_the_numbers_of_its_cells():
    part = TABLE.part(("knn", "m1_tsvm"), (30,))
    assert (part.title, part.data, part.labels) == ("Table 0: digits", "digits", (30,))
    assert part.published == {"knn": (40.0,), "m1_tsvm": (30.0,)}
