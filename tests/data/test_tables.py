"""Tables: numbers, categories, missing values, labels; the same for new rows; bad tables."""

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfssl.data.columns import feature_names
from tfssl.data.loading import load_source
from tfssl.data.new_inputs import read_new
from tfssl.data.splits import split
from tfssl.errors import InputError

TABLE = """age,colour,size,species
1,red,0.5,cat
,blue,1.5,dog
4,,2.5,
7,red,3.5,cat
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "animals.csv").write_text(TABLE)
    return tmp_path / "animals.csv"


EXPECTED = [  # age, age missing, colour=blue, colour=red, size
    [1, 0, 0, 1, 0.5],
    [4, 1, 1, 0, 1.5],  # the mean of 1, 4 and 7
    [4, 0, 0, 0, 2.5],
    [7, 0, 0, 1, 3.5],
]


def test_columns_become_features(path):
    source = load_source(str(path), label="species")
    np.testing.assert_array_equal(source.x, EXPECTED)
    np.testing.assert_array_equal(source.label, [0, 1, -1, 0])
    assert source.class_names == ("cat", "dog")
    assert (source.name, source.levels, source.image_shape) == ("animals", None, None)
    names = feature_names(source.schema)
    assert names == ["age", "age missing", "colour=blue", "colour=red", "size"]


def test_parquet_gives_what_csv_gives(path):
    columns = {
        "age": [1, None, 4, 7],
        "colour": pyarrow.array(["red", "blue", None, "red"]).dictionary_encode(),
        "size": [0.5, 1.5, 2.5, 3.5],
        "species": ["cat", "dog", None, "cat"],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path.with_suffix(".parquet"))
    source = load_source(str(path.with_suffix(".parquet")), label="species")
    np.testing.assert_array_equal(source.x, EXPECTED)
    assert source.schema == load_source(str(path), label="species").schema


def held_out_and_training(tmp_path, held_out):
    """A table of 40 rows with the row `held_out` (age, colour, size) in the test set, split."""
    plain = [f"{i},{('red', 'blue')[i % 2]},1,{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["age,colour,size,label", *plain]) + "\n")
    (row, *_) = split(load_source(str(tmp_path / "t.csv")), 10, 0, 5, seed=0).rows["test"]
    plain[row] = f"{held_out},{'ab'[row % 2]}"
    (tmp_path / "t.csv").write_text("\n".join(["age,colour,size,label", *plain]) + "\n")
    parts = split(load_source(str(tmp_path / "t.csv")), 10, 0, 5, seed=0)
    assert parts.rows["test"][0] == row
    return parts


def test_rows_that_are_held_out_do_not_shape_the_features(tmp_path):
    parts = held_out_and_training(tmp_path, ",green,")
    assert feature_names(parts.source.schema) == ["age", "colour=blue", "colour=red", "size"]
    mean = parts.source.schema["columns"][0]["mean"]
    assert mean == pytest.approx(parts.x_train[:, 0].mean(), rel=1e-12)
    np.testing.assert_array_equal(parts.x_test[0], [mean, 0, 0, 1])  # green was never seen
    far = held_out_and_training(tmp_path, "1e9,green,7")
    np.testing.assert_array_equal(far.x_train, parts.x_train)
    np.testing.assert_array_equal(far.x_test[0], [1e9, 0, 0, 7])


def test_a_column_that_only_held_out_rows_fill_is_left_out(tmp_path):
    rows = [f"{i},,{'ab'[i % 2]}" for i in range(40)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["age,size,label", *rows]) + "\n")
    (row, *_) = split(load_source(str(table)), 10, 0, 5, seed=0).rows["test"]
    rows[row] = f"{row},3,{'ab'[row % 2]}"
    table.write_text("\n".join(["age,size,label", *rows]) + "\n")
    parts = split(load_source(str(table)), 10, 0, 5, seed=0)
    assert feature_names(parts.source.schema) == ["age"]
    np.testing.assert_array_equal(parts.x_test[0], [row])


def test_a_schema_of_before_reads_a_table_alike_whatever_the_split(tmp_path):
    parts = held_out_and_training(tmp_path, ",green,")
    other = split(load_source(str(tmp_path / "t.csv")), 10, 0, 5, 1, schema=parts.source.schema)
    np.testing.assert_array_equal(other.source.x, parts.source.x)
    assert other.source.schema == parts.source.schema
    path = tmp_path / "t.csv"
    path.write_text(path.read_text().replace(",1,", ",one,"))
    with pytest.raises(InputError, match="the column `size` must be numbers, as where the model"):
        split(load_source(str(path)), 10, 0, 5, seed=0, schema=parts.source.schema)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_a_byte_order_mark(path, delimiter):
    path.write_text("\ufeff" + TABLE.replace(",", delimiter), encoding="utf-8")
    np.testing.assert_array_equal(load_source(str(path), label="species").x, EXPECTED)


def test_train_and_test_files_in_a_folder(path):
    path.rename(path.with_name("train.csv"))
    path.with_name("test.csv").write_text("species,size,colour,age\ndog,9,green,\n")
    source = load_source(str(path.parent), label="species")
    np.testing.assert_array_equal(source.x_test, [[4, 1, 0, 0, 9]])  # green was never seen
    np.testing.assert_array_equal(source.label_test, [1])


def test_new_rows_are_read_alike_from_plain_data(path, tmp_path):
    schema = json.loads(json.dumps(load_source(str(path), label="species").schema))
    (tmp_path / "new.csv").write_text("colour,extra,size,age\nred,x,1,2\ngreen,y,,\n")
    (tmp_path / "old.csv").write_text("colour,size,age\nred,1,old\n")
    with pytest.raises(InputError, match=r"the column `age` must be numbers.*found='old'"):
        read_new(tmp_path / "old.csv", schema)
    x, names = read_new(tmp_path / "new.csv", schema)
    np.testing.assert_array_equal(x, [[2, 0, 0, 1, 1], [4, 1, 0, 0, 2]])
    assert names == ["0", "1"]
    (tmp_path / "less.csv").write_text("colour,size\nred,1\n")
    with pytest.raises(InputError, match=r"every column of the training table.*\['age'\]"):
        read_new(tmp_path / "less.csv", schema)


def test_classes_are_in_natural_order_and_label_is_a_usual_name(tmp_path):
    (tmp_path / "t.csv").write_text("x,class\n1,10\n2,9\n3,\n")
    assert load_source(str(tmp_path / "t.csv")).class_names == ("9", "10")


@pytest.mark.parametrize("codes", [("2024_01", "2024_02"), ("1", "infinity"), ("\u0661", "\u0662")])
def test_codes_are_categories_though_python_reads_them_as_numbers(codes, tmp_path):
    rows = [f"{code},{label}" for code, label in zip(codes, "ab", strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["code,label", *rows]) + "\n", encoding="utf-8")
    source = load_source(str(tmp_path / "t.csv"))
    assert feature_names(source.schema) == [f"code={code}" for code in codes]
    np.testing.assert_array_equal(source.x, np.eye(2))


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("-2.5", -2.5), ("+.5", 0.5), ("3.", 3), (" 1E-3 ", 1e-3)]
)
def test_ways_to_write_a_number(text, number, tmp_path):
    (tmp_path / "t.csv").write_text(f"x,label\n{text},a\n0,b\n")
    np.testing.assert_array_equal(load_source(str(tmp_path / "t.csv")).x, [[number], [0]])


def test_minus_one_is_no_label_as_in_arrays(tmp_path):
    (tmp_path / "train.csv").write_text("x,label\n1,0\n2,1\n3,-1\n4,\n5,-1.0\n6,1\n")
    (tmp_path / "test.csv").write_text("x,label\n1,1\n2,-1\n")
    source = load_source(str(tmp_path))
    assert source.class_names == ("0", "1")
    np.testing.assert_array_equal(source.label, [0, 1, -1, -1, -1, 1])
    np.testing.assert_array_equal(source.label_test, [1, -1])


def test_columns_can_be_left_out(tmp_path):
    names = "".join(f"{i},name {i},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("x,who,label\n" + names)
    with pytest.raises(InputError, match=r"`who` must hold numbers, or up to 50 cat.*data\.drop"):
        load_source(str(tmp_path / "t.csv"))
    assert load_source(str(tmp_path / "t.csv"), drop=["who"]).x.shape == (60, 1)
    with pytest.raises(InputError, match=r"data\.drop must name columns.*\['whom'\]"):
        load_source(str(tmp_path / "t.csv"), drop=["whom"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have rows"),
        ("x,label\n", "must have rows"),
        ("x,kind\n1,a\n", r"must have a label column.*columns=\['x', 'kind'\].*--label"),
        ("x,label\n1,\n2,\n", r"at least two classes.*classes=\[\]"),
        ("x,label\n1,a\n2,a\n", r"at least two classes.*classes=\['a'\]"),
        ("x,label\n1,-1\n2,1\n", r"empty or -1 where there is none.*classes=\['1'\]"),
        ("x,x,label\n1,1,a\n2,2,b\n", r"its own name.*repeated=\['x'\]"),
        ("x,label\n1,a\n2\n", "every row must have 2 cells.*line=3, cells=1"),
        ("label\na\nb\n", "must have columns besides the label"),
        ("x,label\n,a\n,b\n", "must have columns besides the label"),
        ("x,label\ninf,a\n1,b\n", "`x` must hold finite numbers.*found=inf"),
        ('x,label\n"1,a\n2,b\n', "is not a valid table"),
    ],
)
def test_bad_tables_are_explained(text, message, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        load_source(str(tmp_path / "bad.csv"))


def test_files_that_are_no_tables(tmp_path):
    for name in ("a.csv", "a.parquet"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00PK\x03\x04" * 9)
        with pytest.raises(InputError, match="is not a valid"):
            load_source(str(tmp_path / name))
    columns = pyarrow.table({"x": [[1], [2]], "label": ["a", "b"]})
    pyarrow.parquet.write_table(columns, tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=r"`x` must hold numbers or text.*data\.drop"):
        load_source(str(tmp_path / "lists.parquet"))


cells = st.text(st.characters(codec="utf-8"), max_size=5) | st.floats().map(str)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells, st.sampled_from(["a", "b", ""])), max_size=8))
def test_any_cells_load_or_raise_an_input_error(rows, tmp_path_factory):
    import csv

    path = tmp_path_factory.mktemp("any") / "any.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("one", "two", "label"), *rows])
    try:
        source = load_source(str(path))
    except InputError:
        return
    assert len(source.x) == len(rows)
    assert np.isfinite(source.x).all()
    again, _ = read_new(path, source.schema)
    np.testing.assert_array_equal(again, source.x)
