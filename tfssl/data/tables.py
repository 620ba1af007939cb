"""A CSV or Parquet table as a data set: a label column, and columns that become features."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfssl.data.columns import column, features, fit_schema, number_of, read_alike, text_of
from tfssl.data.source import NO_LABEL, Source, check_classes
from tfssl.data.table_files import read_columns, table_file
from tfssl.errors import expect

LABEL_NAMES = ("label", "class", "target", "y")


@dataclass(frozen=True)
class Table:
    """The columns of a table, kept until it is known which of its rows shape the features.

    Attributes:
      columns, columns_test: {name: values}, of the training table and of one of test points, as
        `columns.column` reads them; without the label.
      label: the name of the label column.
      path: the training table, for messages.
    """

    columns: dict[str, np.ndarray]
    columns_test: dict[str, np.ndarray]
    label: str
    path: Path

    def schema(self, rows):
        """How columns become features, as these rows of the training table decide: plain data."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return fit_schema(columns, self.path) | {"label": self.label}

    def features(self, schema):
        """(x [N, D], x_test [M, D]) by a schema."""
        x = features(self.columns, schema, self.path)
        return x, features(self.columns_test, schema, self.path) if self.columns_test else x[:0]


def load(path, label=None, drop=()):
    """The `Source` of a table, its features still shaped by all rows.

    Args:
      path: a .csv, .tsv or .parquet file; or a folder with train.* and perhaps test.* of these.
      label: the name of the label column; cells that are empty or -1 have no label.
      drop: names of columns to leave out.
    """
    path = Path(path)
    files = {"train": path, "test": None}
    if path.is_dir():
        files = {part: table_file(path, part) for part in files}
    cells = read_columns(files["train"])
    label = _label_column(cells, label, files["train"])
    unknown = sorted(set(drop) - set(cells))
    expect(not unknown, f"{path}: data.drop must name columns", unknown=unknown)
    names = [_class_of(value) for value in cells.pop(label)]
    class_names = sorted(set(names) - {None}, key=_natural)
    rule = f"the column `{label}`, empty or {NO_LABEL} where there is none"
    check_classes(class_names, files["train"], rule)
    columns = {
        name: column(values, name, files["train"])
        for name, values in cells.items()
        if name not in drop
    }
    schema = fit_schema(columns, files["train"])
    columns_test, names_test = {}, []
    if files["test"] is not None:
        cells = read_columns(files["test"])
        expect(label in cells, f"{files['test']} must have the label column `{label}`")
        names_test = [_class_of(value) for value in cells[label]]
        strangers = sorted(set(names_test) - {None, *class_names})
        expect(not strangers, f"{files['test']}: unknown classes", unknown=strangers)
        columns_test = read_alike(cells, schema, files["test"])
    table = Table(columns, columns_test, label, files["train"])
    number = {name: k for k, name in enumerate(class_names)} | {None: NO_LABEL}
    source = Source(
        name=path.stem,
        x=np.empty((len(names), 0)),
        label=np.array([number[name] for name in names], np.int64),
        x_test=np.empty((len(names_test), 0)),
        label_test=np.array([number[name] for name in names_test], np.int64),
        class_names=tuple(class_names),
        levels=None,
        table=table,
    )
    return source.shaped_by(np.arange(len(names)))


def read_new(path, schema):
    """New rows to classify: (x, row numbers); a label column among them is not looked at."""
    path = Path(path)
    x = features(read_alike(read_columns(path), schema, path), schema, path)
    return x, [str(row) for row in range(len(x))]


def _label_column(columns, label, path):
    if label is None:
        label = next((name for name in LABEL_NAMES if name in columns), None)
    expect(
        label in columns,
        f"{path} must have a label column",
        hint="Name it with --label NAME.",
        label=label,
        columns=list(columns),
    )
    return label


def _class_of(value):
    """A cell of the label column as the name of a class; None where it is empty or -1."""
    name = text_of(value)
    return None if number_of(name) == NO_LABEL else name


def _natural(name):
    """Numbers by value, before words by letter."""
    number = number_of(name)
    return (number is None, number or 0.0, name)
