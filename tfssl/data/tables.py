"""A CSV or Parquet table: a label column, numeric and categorical columns, missing values.

Numbers are stored as they are; where some are missing, the column's mean stands in, and a second
feature says 1 for "missing". Text becomes one feature per category, all 0 if it is missing or was
never seen. What a run needs to read a new table alike is plain data, `schema`.
"""

import csv
import re
from pathlib import Path

import numpy as np

from tfssl.data.source import NO_LABEL, Source, check_classes
from tfssl.errors import InputError, expect

SUFFIXES = (".csv", ".tsv", ".parquet")
MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
LABEL_NAMES = ("label", "class", "target", "y")
MAX_CATEGORIES = 50
# Python's float() also takes the codes "2024_01" and "infinity", and the digits of any script.
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)
LARGEST = float(np.finfo(np.float32).max)


def load(path, label=None, drop=()):
    """The `Source` of a table.

    Args:
      path: a .csv, .tsv or .parquet file; or a folder with train.* and perhaps test.* of these.
      label: the name of the label column; empty cells have no label.
      drop: names of columns to leave out.
    """
    path = Path(path)
    files = {"train": path, "test": None}
    if path.is_dir():
        files = {part: table_file(path, part) for part in files}
    columns = read_columns(files["train"])
    label = _label_column(columns, label, files["train"])
    unknown = sorted(set(drop) - set(columns))
    expect(not unknown, f"{path}: data.drop must name columns", unknown=unknown)
    schema = fit_schema({n: v for n, v in columns.items() if n not in {label, *drop}}, path)
    schema["label"] = label
    names = [text_of(value) for value in columns[label]]
    class_names = sorted(set(names) - {None}, key=_natural)
    check_classes(class_names, files["train"], f"the column `{label}`, empty where there is none")
    x = apply_schema(columns, schema, files["train"])
    x_test, label_test = x[:0], []
    if files["test"] is not None:
        columns = read_columns(files["test"])
        expect(label in columns, f"{files['test']} must have the label column `{label}`")
        x_test = apply_schema(columns, schema, files["test"])
        label_test = [text_of(value) for value in columns[label]]
        strangers = sorted(set(label_test) - {None, *class_names})
        expect(not strangers, f"{files['test']}: unknown classes", unknown=strangers)
    number = {name: k for k, name in enumerate(class_names)} | {None: NO_LABEL}
    return Source(
        name=path.stem,
        x=x,
        label=np.array([number[name] for name in names], np.int64),
        x_test=x_test,
        label_test=np.array([number[name] for name in label_test], np.int64),
        class_names=tuple(class_names),
        levels=None,
        schema=schema,
    )


def table_file(folder, part):
    """The table `part` in a folder, or None."""
    found = [folder / f"{part}{suffix}" for suffix in SUFFIXES]
    return next((path for path in found if path.is_file()), None)


def read_columns(path):
    """{name: list of values}, text, numbers or None; every column equally long."""
    try:
        columns = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    expect(bool(columns) and len(next(iter(columns.values()))) > 0, f"{path} must have rows")
    return columns


def _read_csv(path):
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            lines = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
            header = [name.strip() for name in next(lines, [])]
            repeated = sorted({name for name in header if header.count(name) > 1})
            expect(not repeated, f"{path}: every column must have its own name", repeated=repeated)
            rows = []
            for row in lines:
                expect(
                    len(row) in (0, len(header)),
                    f"{path}: every row must have {len(header)} cells",
                    line=lines.line_num,
                    cells=len(row),
                )
                rows += [row] if row else []
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a valid table in UTF-8: {error}.") from None
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def _read_parquet(path):
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path} is not a valid Parquet file: {error}.") from None
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        expect(
            _plain(column.type),
            f"{path}: the column `{name}` must hold numbers or text",
            hint="Leave it out with data.drop.",
            type=str(column.type),
        )
        columns[name] = column.to_pylist()
    return columns


def _plain(kind):
    from pyarrow import types

    checks = ("integer", "floating", "decimal", "boolean", "string", "large_string", "null")
    return any(getattr(types, f"is_{check}")(kind) for check in checks)


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


def fit_schema(columns, where):
    """How columns become features: plain data for `apply_schema`.

    Args:
      columns: {name: values}, without the label.
      where: the file, for messages.
    """
    entries = []
    for name, values in columns.items():
        given = [value for value in values if text_of(value) is not None]
        if not given:
            continue  # nothing to learn from
        numbers = [_number(value) for value in given]
        if None not in numbers:
            _check_finite(numbers, name, where)
            indicator = len(given) < len(values)
            mean = float(np.mean(numbers))
            entries.append({"name": name, "mean": mean, "indicator": indicator})
            continue
        categories = sorted({text_of(value) for value in given})
        expect(
            len(categories) <= MAX_CATEGORIES,
            f"{where}: the column `{name}` must hold numbers, or up to {MAX_CATEGORIES} categories",
            hint=f"Leave it out with --set 'data.drop=[\"{name}\"]'.",
            categories=len(categories),
            for_example=categories[0],
        )
        entries.append({"name": name, "categories": categories})
    expect(bool(entries), f"{where} must have columns besides the label", columns=list(columns))
    return {"format": "table", "columns": entries}


def feature_names(schema):
    """One name per feature: "age", "age missing", "colour=red"."""
    names = []
    for column in schema["columns"]:
        if "categories" in column:
            names += [f"{column['name']}={category}" for category in column["categories"]]
        else:
            names.append(column["name"])
            names += [f"{column['name']} missing"] if column["indicator"] else []
    return names


def apply_schema(columns, schema, where):
    """Features of a table, float64 [N, D]."""
    wanted = [column["name"] for column in schema["columns"]]
    absent = [name for name in wanted if name not in columns]
    expect(not absent, f"{where} must have every column of the training table", missing=absent)
    features = []
    for column in schema["columns"]:
        values = columns[column["name"]]
        if "categories" in column:
            texts = np.array([text_of(value) or "" for value in values], dtype=object)
            features += [texts == category for category in column["categories"]]
            continue
        numbers = [None if text_of(value) is None else _number(value) for value in values]
        pairs = zip(values, numbers, strict=True)
        text = next((v for v, n in pairs if n is None and text_of(v) is not None), None)
        expect(text is None, f"{where}: the column `{column['name']}` must be numbers", found=text)
        missing = np.array([number is None for number in numbers])
        numbers = [column["mean"] if number is None else number for number in numbers]
        _check_finite(numbers, column["name"], where)
        features.append(numbers)
        features += [missing] if column["indicator"] else []
    return np.stack([np.asarray(feature, np.float64) for feature in features], axis=1)


def read_new(path, schema):
    """New rows to classify: (x, row numbers); a label column among them is not looked at."""
    x = apply_schema(read_columns(Path(path)), schema, path)
    return x, [str(row) for row in range(len(x))]


def text_of(value):
    """A cell as text, None if it is missing; 3.0 is written like 3."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def _number(value):
    """A cell as a number, None if it is none; text must look like one to a reader of English."""
    text = isinstance(value, str)
    if value is None or (text and NUMBER.fullmatch(value.strip()) is None):
        return None
    return float(value)


def _check_finite(numbers, name, where):
    bad = next((number for number in numbers if not abs(number) <= LARGEST), None)
    expect(
        bad is None,
        f"{where}: the column `{name}` must hold finite numbers that float32 can hold",
        found=bad,
    )


def _natural(name):
    """Numbers by value, before words by letter."""
    number = _number(name)
    return (number is None, number or 0.0, name)
