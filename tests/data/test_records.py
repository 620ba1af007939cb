"""TFRecords and TensorFlow Datasets by name."""

import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tfssl.data.new_inputs import read_new
from tfssl.data.sources import load_source
from tfssl.errors import InputError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(tmp_path / "cache"))


def feature(value):
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    if isinstance(value, int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def write(path, records):
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            features = {name: feature(value) for name, value in record.items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def test_numbers_with_integer_labels(tmp_path, rng):
    x = rng.normal(size=(5, 3)).astype(np.float32)
    labels = [{"label": 10}, {"label": 9}, {"label": -1}, {}, {"label": 10}]
    records = [{"x": row, **label} for row, label in zip(x.tolist(), labels, strict=True)]
    path = write(tmp_path / "some.tfrecord", records)
    source = load_source(str(path))
    np.testing.assert_array_equal(source.x, x)
    np.testing.assert_array_equal(source.label, [1, 0, -1, -1, 1])
    assert (source.class_names, source.levels, source.schema) == (("9", "10"), None, None)
    new, names = read_new(path, None)
    np.testing.assert_array_equal(new, x)
    assert names == list("01234")


def test_pictures_with_text_labels_in_several_files(tmp_path, rng):
    images = rng.integers(0, 256, size=(4, 6, 5, 3)).astype(np.uint8)
    records = [
        {"image/encoded": png(image), "animal": name}
        for image, name in zip(images, [b"dog", b"cat", b"", b"dog"], strict=True)
    ]
    write(tmp_path / "data" / "a.tfrecord", records[:2])
    write(tmp_path / "data" / "b.tfrecords", records[2:3])
    write(tmp_path / "data" / "test.tfrecord", records[3:])
    source = load_source(str(tmp_path / "data"), label="animal")
    np.testing.assert_array_equal(source.x, images[:3])
    np.testing.assert_array_equal(source.x_test, images[3:])
    np.testing.assert_array_equal(source.label, [1, 0, -1])
    np.testing.assert_array_equal(source.label_test, [1])
    assert source.image_shape == (6, 5, 3)
    new, _ = read_new(tmp_path / "data" / "test.tfrecord", source.schema)
    np.testing.assert_array_equal(new, images[3:])


def test_bad_records_are_explained(tmp_path):
    cases = [
        ([{"x": [1.0], "label": 0}], "at least two classes"),
        ([{"x": [1.0], "label": 0}, {"x": [1.0, 2.0], "label": 1}], "as many numbers"),
        ([{"z": [1.0], "label": 0}, {"z": [1.0], "label": 1}], "one of the features image"),
        ([{"x": [1.0], "label": 0}, {"x": [float("nan")], "label": 1}], "finite"),
        ([{"x": [1.0], "label": [0.5]}], "must be one integer or one text"),
        ([{"image": b"zip", "label": 0}, {"image": b"zip", "label": 1}], "not a readable png"),
    ]
    for number, (records, message) in enumerate(cases):
        path = write(tmp_path / f"{number}.tfrecord", records)
        with pytest.raises(InputError, match=message):
            load_source(str(path))
    path.write_bytes(b"no record at all, but long enough")
    with pytest.raises(InputError, match="is not a readable TFRecord file"):
        load_source(str(path))


def test_any_set_of_tensorflow_datasets(tmp_path, monkeypatch, rng):
    import tensorflow_datasets as tfds

    images = rng.integers(0, 256, size=(6, 4, 4, 1)).astype(np.uint8)
    columns = {"image": images, "label": np.arange(6) % 2, "other": np.arange(6) % 3}
    tfds.dataset_builders.store_as_tfds_dataset(
        name="mine",
        version="1.0.0",
        features=tfds.features.FeaturesDict(
            {
                "image": tfds.features.Image(shape=(4, 4, 1)),
                "label": tfds.features.ClassLabel(names=["a", "b"]),
                "other": tfds.features.ClassLabel(num_classes=3),
            }
        ),
        split_datasets={"train": tf.data.Dataset.from_tensor_slices(columns)},
        data_dir=str(tmp_path),
    )
    monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path))
    source = load_source("tfds:mine")
    assert (source.name, source.class_names, source.x.shape) == ("tfds_mine", ("a", "b"), (6, 4, 4))
    assert len(source.x_test) == 0
    assert load_source("tfds:mine", label="other").num_classes == 3
    with pytest.raises(InputError, match="features `image` and `nothing`"):
        load_source("tfds:mine", label="nothing")
    with pytest.raises(InputError, match="cannot load tfds:no_such_set"):
        load_source("tfds:no_such_set")
