"""The paper's tables of errors, and ours beside them."""

from dataclasses import dataclass, replace

import numpy as np
from rich.table import Table

from tfssl.paper import baselines
from tfssl.results.intervals import mean_and_interval

METHODS = {
    **baselines.NAMES,
    "m1_knn": "M1+1-NN",
    "m1_tsvm": "M1+TSVM",
    "m2": "M2",
    "m1_m2": "M1+M2",
}


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Attributes:
      title: what it is.
      data: the data set; `configs/<data>_<model>[_<labels>].toml` are the settings.
      labels: the numbers of labels.
      published: {method: the paper's test error in % for each number of labels}.
    """

    title: str
    data: str
    labels: tuple[int, ...]
    published: dict[str, tuple[float | None, ...]]

    def part(self, methods, labels):
        """The table with these rows and columns only."""
        kept = [i for i, number in enumerate(self.labels) if number in labels]
        return replace(
            self,
            labels=tuple(self.labels[i] for i in kept),
            published={m: tuple(self.published[m][i] for i in kept) for m in methods},
        )


TABLES = {
    "table1": PaperTable(
        "Table 1: MNIST",
        "mnist",
        (100, 600, 1000, 3000),
        {
            "knn": (25.81, 11.44, 10.7, 6.04),
            "svm": (None, None, None, None),
            "cnn": (22.98, 7.68, 6.45, 3.35),
            "tsvm": (16.81, 6.16, 5.38, 3.45),
            "cae": (13.47, 6.3, 4.77, 3.22),
            "m1_tsvm": (11.82, 5.72, 4.24, 3.49),
            "m2": (11.97, 4.94, 3.60, 3.92),
            "m1_m2": (3.33, 2.59, 2.40, 2.18),
        },
    ),
    "table2": PaperTable(
        "Table 2: SVHN",
        "svhn",
        (1000,),
        {
            "knn": (77.93,),
            "tsvm": (66.55,),
            "m1_knn": (65.63,),
            "m1_tsvm": (54.33,),
            "m1_m2": (36.02,),
        },
    ),
    "table3": PaperTable(
        "Table 3: NORB",
        "smallnorb",
        (1000,),
        {"knn": (78.71,), "tsvm": (26.00,), "m1_knn": (65.39,), "m1_tsvm": (18.79,)},
    ),
}


@dataclass(frozen=True)
class Summary:
    """One method with one number of labels, over its splits; errors in %.

    Attributes:
      error, half_width: mean test error of the last epoch, and its 95% t-interval.
      selected: the mean with the epoch chosen by the validation error; None where none was chosen.
      splits: how many.
      seconds: mean time, without the shared M1's.
    """

    error: float
    half_width: float
    selected: float | None
    splits: int
    seconds: float

    def __str__(self):
        interval = f" ± {self.half_width:.2f}" if self.splits > 1 else ""
        return f"{self.error:.2f}{interval} ({self.splits})"


def summarise(results):
    """{(method, labels): `Summary`}."""
    groups: dict[tuple[str, int], list[dict]] = {}
    for result in results:
        groups.setdefault((result["method"], result["labels"]["training"]), []).append(result)
    return {key: _summarise_group(own) for key, own in groups.items()}


def _summarise_group(results):
    error, half_width = mean_and_interval([100 * r["test"]["error"] for r in results])
    selected = [100 * r["selected"]["test"]["error"] for r in results if "selected" in r]
    return Summary(
        error,
        half_width,
        float(np.mean(selected)) if selected else None,
        len(results),
        float(
            np.mean([sum(r.get("training_seconds", {}).values()) or r["seconds"] for r in results])
        ),
    )


def rows(table, results):
    """A header and the lines of the table, ours beside the paper's, as text.

    Ours is the mean test error ± its 95% interval (number of splits); "-" is not measured.
    """
    summary = summarise(results)
    header = ["method"]
    for labels in table.labels:
        header += [f"{labels} labels", "paper"]
    lines = []
    for method, published in table.published.items():
        line = [METHODS[method]]
        for labels, error in zip(table.labels, published, strict=True):
            line += [
                str(summary.get((method, labels), "-")),
                "-" if error is None else f"{error:.2f}",
            ]
        lines.append(line)
    return header, lines


def terminal_table(table, results):
    """The table for a terminal."""
    header, lines = rows(table, results)
    picture = Table(title=f"{table.title}, test error %")
    for column in header:
        # Ours breaks into several lines where the terminal is narrow.
        whole = column in ("method", "paper")
        picture.add_column(column, justify="left" if column == "method" else "right", no_wrap=whole)
    for line in lines:
        picture.add_row(*line)
    return picture
