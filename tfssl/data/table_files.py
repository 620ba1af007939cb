"""Cells of a table: .csv, .tsv and .parquet files as columns of text and numbers."""

import csv

from tfssl.errors import InputError, expect

SUFFIXES = (".csv", ".tsv", ".parquet")


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
