"""Columns of a table as features: numbers, categories, missing values.

Numbers are stored as they are; where some are missing, the column's mean stands in, and a second
feature says 1 for "missing". Text becomes one feature per category, all 0 if it is missing or was
never seen. The means, the categories and which columns have any are those of the rows that a
schema is fitted to, plain data by which other rows become features alike. Whether a column holds
numbers or text is a property of the table, as it is of a Parquet file.
"""

import re

import numpy as np

from tfssl.errors import expect

MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
MAX_CATEGORIES = 50
# Python's float() also takes the codes "2024_01" and "infinity", and the digits of any script.
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)
LARGEST = float(np.finfo(np.float32).max)


def column(values, name, where):
    """A column: numbers, float64 [N] with NaN for missing, if every cell is one, else `texts`."""
    if any(text_of(value) is not None and number_of(value) is None for value in values):
        return texts(values)
    return numbers(values, name, where)


def numbers(values, name, where):
    """A column of numbers, float64 [N], NaN where they are missing."""
    found = [None if text_of(value) is None else number_of(value) for value in values]
    for value, number in zip(values, found, strict=True):
        expect(
            number is not None or text_of(value) is None,
            f"{where}: the column `{name}` must be numbers",
            found=value,
        )
    _check_finite([number for number in found if number is not None], name, where)
    return np.array(found, np.float64)


def texts(values):
    """A column of text, [N] strings, None where they are missing; equal ones are one object."""
    one: dict[str | None, str | None] = {}
    found = (text_of(value) for value in values)
    return np.array([one.setdefault(text, text) for text in found], dtype=object)


def read_alike(cells, schema, where):
    """The columns {name: values} of another table that a schema knows, each as it knows it."""
    _check_columns(cells, schema, where)
    return {
        entry["name"]: texts(cells[entry["name"]])
        if "categories" in entry
        else numbers(cells[entry["name"]], entry["name"], where)
        for entry in schema["columns"]
    }


def fit_schema(columns, where):
    """How columns become features: plain data for `features`.

    Args:
      columns: {name: values} as `column` gives them, without the label.
      where: the file, for messages.
    """
    entries = []
    for name, values in columns.items():
        given = values[~_missing(values)]
        if not len(given):
            continue  # nothing to learn from
        if values.dtype != object:
            indicator = len(given) < len(values)
            entries.append({"name": name, "mean": float(given.mean()), "indicator": indicator})
            continue
        categories = sorted(set(given))
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


def features(columns, schema, where):
    """Features of the columns {name: values} of a table, float64 [N, D]."""
    _check_columns(columns, schema, where)
    parts = []
    for entry in schema["columns"]:
        values, is_text = columns[entry["name"]], "categories" in entry
        expect(
            is_text == (values.dtype == object),
            f"{where}: the column `{entry['name']}` must be {'text' if is_text else 'numbers'}, as "
            "where the model was trained",
        )
        if is_text:
            parts += [values == category for category in entry["categories"]]
            continue
        missing = _missing(values)
        parts.append(np.where(missing, entry["mean"], values))
        parts += [missing] if entry["indicator"] else []
    return np.stack([np.asarray(part, np.float64) for part in parts], axis=1)


def _check_columns(columns, schema, where):
    absent = [entry["name"] for entry in schema["columns"] if entry["name"] not in columns]
    expect(not absent, f"{where} must have every column of the training table", missing=absent)


def _missing(values):
    if values.dtype == object:
        return np.array([value is None for value in values], bool)
    return np.isnan(values)


def text_of(value):
    """A cell as text, None if it is missing; 3.0 is written like 3."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def number_of(value):
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
