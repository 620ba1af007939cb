"""TFRecord files of tf.train.Example: a picture or a list of numbers each, and perhaps a label.

The input is the feature "image" or "image/encoded" (a png or jpg file as bytes), or "x" (numbers,
as many in every record). The label, "label" unless another is named, is an integer or text; left
out, empty or -1 it means "no label". A folder may hold several files; those whose names start with
"test" are the test points.
"""

from pathlib import Path

import numpy as np

from tfssl.data import images
from tfssl.data.cache import cached_arrays
from tfssl.data.source import NO_LABEL, Source, check_classes
from tfssl.errors import InputError, expect

SUFFIXES = (".tfrecord", ".tfrecords")
INPUTS = ("image", "image/encoded", "x")


def load(path, label=None, image_size=None, colour=None, memory_limit_mb=1000):
    """The `Source` of a .tfrecord file or a folder of them; arguments as `images.load` has them."""
    path = Path(path)
    files = record_files(path)
    parts = {
        "x": [file for file in files if not file.name.startswith("test")],
        "x_test": [file for file in files if file.name.startswith("test")],
    }
    expect(bool(parts["x"]), f"{path} must hold training records", files=[f.name for f in files])
    names = {
        part: [_label(example, label or "label") for example in read_examples(files)]
        for part, files in parts.items()
    }
    given = set(names["x"]) - {None}
    class_names = sorted(given, key=lambda name: (not name.isdecimal(), len(name), name))
    check_classes(class_names, path, f"the feature `{label or 'label'}`")
    strangers = sorted(set(names["x_test"]) - {None, *class_names})
    expect(not strangers, f"{path}: test points of unknown classes", unknown=strangers)
    schema, shape, dtype = _form(files, image_size, colour)
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = {"records": str(path.resolve()), "schema": schema, "files": stats}

    def build():
        return {
            part: (
                (len(names[part]), *shape),
                dtype,
                (_input(example, schema, shape) for example in read_examples(files)),
            )
            for part, files in parts.items()
        }

    number = {name: k for k, name in enumerate(class_names)} | {None: NO_LABEL}
    return Source(
        name=path.stem,
        label=np.array([number[name] for name in names["x"]], np.int64),
        label_test=np.array([number[name] for name in names["x_test"]], np.int64),
        class_names=tuple(class_names),
        levels=255 if schema else None,
        schema=schema,
        **cached_arrays(key, build, memory_limit_mb),
    )


def record_files(path):
    """The files of a path, sorted; none if it is a folder of something else."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    return [path]


def read_new(path, schema):
    """New records to classify: (x, record numbers)."""
    examples = list(read_examples(record_files(Path(path))))
    expect(bool(examples), f"{path} must hold records", records=0)
    shape = images.image_shape(schema) if schema else (len(_numbers(examples[0])),)
    x = np.stack([_input(example, schema, shape) for example in examples])
    return x, [str(row) for row in range(len(x))]


def read_examples(files):
    """Every record of the files, as a mapping from feature names to tf.train.Feature."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    for file in files:
        try:
            for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
                yield tf.train.Example.FromString(record).features.feature
        except (tf.errors.OpError, DecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{file} is not a readable TFRecord file: {reason}") from None


def _form(files, image_size, colour):
    """(schema or None, shape of an input, dtype) by a pass over the records."""
    first = next(iter(read_examples(files)))
    if _encoded(first) is None:
        expect(
            image_size is None and colour is None,
            "records must hold pictures to be read with data.image_size or data.colour",
            hint="Leave these out.",
            image_size=image_size,
            colour=colour,
        )
        return None, (len(_numbers(first)),), np.float32
    encoded = (_encoded(example) for example in read_examples(files))
    schema = images.common_form(encoded, image_size, colour)
    return schema, images.image_shape(schema), np.uint8


def _input(example, schema, shape):
    if schema is None:
        numbers = _numbers(example)
        expect(
            numbers.shape == shape, "every record must have as many numbers", numbers=len(numbers)
        )
        expect(bool(np.isfinite(numbers).all()), "the feature `x` must hold finite numbers")
        return numbers
    encoded = _encoded(example)
    expect(encoded is not None, "every record must hold a picture", features=sorted(example))
    return images.read_image(encoded, schema)


def _encoded(example):
    """The bytes of the picture of a record, or None."""
    for name in INPUTS[:2]:
        if name in example and len(example[name].bytes_list.value) == 1:
            return example[name].bytes_list.value[0]
    return None


def _numbers(example):
    lists = [example["x"].float_list, example["x"].int64_list] if "x" in example else []
    values = [value for numbers in lists for value in numbers.value]
    expect(
        len(values) > 0,
        f"every record must have one of the features {', '.join(INPUTS)}",
        features=sorted(example),
    )
    return np.asarray(values, np.float32)


def _label(example, name):
    """The label as text, None if there is none."""
    if name not in example:
        return None
    feature = example[name]
    values = [*feature.bytes_list.value, *feature.int64_list.value]
    expect(
        len(values) <= 1 and not feature.float_list.value,
        f"the feature `{name}` must be one integer or one text",
        hint="Name another with --label NAME.",
        values=len(values),
    )
    text = values[0] if values else ""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return None if text in ("", str(NO_LABEL)) else text
