"""TFRecords and TensorFlow Datasets by name."""

import io
import logging

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tfssl.data.loading import load_source
from tfssl.data.new_inputs import read_new
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


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A function that writes a set of TensorFlow Datasets: name, feature of x, examples."""
    import tensorflow_datasets as tfds

    def store(name, x, feature):
        features = {
            "image": feature,
            "label": tfds.features.ClassLabel(names=["a", "b"]),
            "other": tfds.features.ClassLabel(num_classes=3),
        }
        kinds = {"image": tf.TensorSpec(feature.shape, feature.tf_dtype)}
        kinds |= {other: tf.TensorSpec([], tf.int64) for other in ("label", "other")}
        rows = [{"image": row, "label": i % 2, "other": i % 3} for i, row in enumerate(x)]
        tfds.dataset_builders.store_as_tfds_dataset(
            name=name,
            version="1.0.0",
            features=tfds.features.FeaturesDict(features),
            split_datasets={
                "train": tf.data.Dataset.from_generator(lambda: rows, output_signature=kinds)
            },
            data_dir=str(tmp_path),
        )
        monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path))

    return store


def test_pictures_of_several_sizes_in_tensorflow_datasets(store, rng):
    import tensorflow_datasets as tfds

    sizes = [(6, 4), (6, 4), (9, 7), (6, 4), (20, 30), (6, 4)]
    pictures = [rng.integers(0, 256, (*size, 3)).astype(np.uint8) for size in sizes]
    feature = tfds.features.Image(shape=(None, None, 3), encoding_format="png")
    store("varied", pictures, feature)
    source = load_source("tfds:varied")
    assert source.schema == {"format": "images", "height": 6, "width": 4, "channels": 3}
    assert source.x.shape == (6, 6, 4, 3)
    # Those that had the size are as they were; TFDS shuffles what it stores.
    found = {(x.tobytes(), int(k)) for x, k in zip(source.x, source.label, strict=True)}
    assert {(pictures[i].tobytes(), i % 2) for i in (0, 1, 3, 5)} < found
    source = load_source("tfds:varied", image_size=(3, 2), colour=False)
    assert source.x.shape == (6, 3, 2)


def test_what_is_tried_again_without_a_network_is_not_told_each_time(monkeypatch, caplog):
    import tensorflow_datasets as tfds

    log = logging.getLogger("urllib3.connectionpool")

    class Unreachable:
        def download_and_prepare(self):
            for _ in range(10):
                log.warning("Retrying")
            raise ConnectionError("no network")

    monkeypatch.setattr(tfds, "builder", lambda *_, **__: Unreachable())
    with pytest.raises(InputError, match=r"cannot load tfds:far.*ConnectionError: no network"):
        load_source("tfds:far")
    assert caplog.records == []
    log.warning("later")  # others are told as before
    assert [record.message for record in caplog.records] == ["later"]


def test_only_pictures_are_resized(store, tmp_path, rng):
    import tensorflow_datasets as tfds

    x = rng.normal(size=(6, 4)).astype(np.float32)
    store("numbers", x, tfds.features.Tensor(shape=(4,), dtype=np.float32))
    assert load_source("tfds:numbers").x.shape == (6, 4)
    with pytest.raises(InputError, match=r"must be pictures.*feature='Tensor', shape=\(4,\)"):
        load_source("tfds:numbers", image_size=(2, 2))
    records = [{"x": row.tolist(), "label": i % 2} for i, row in enumerate(x)]
    path = write(tmp_path / "numbers.tfrecord", records)
    with pytest.raises(InputError, match=r"must hold pictures.*colour=True"):
        load_source(str(path), colour=True)


def test_any_set_of_tensorflow_datasets(store, rng):
    import tensorflow_datasets as tfds

    images = rng.integers(0, 256, size=(6, 4, 4, 1)).astype(np.uint8)
    store("mine", images, tfds.features.Image(shape=(4, 4, 1)))
    source = load_source("tfds:mine")
    assert (source.name, source.class_names, source.x.shape) == ("tfds_mine", ("a", "b"), (6, 4, 4))
    assert len(source.x_test) == 0
    assert source.schema is None
    assert load_source("tfds:mine", image_size=(2, 2)).x.shape == (6, 2, 2)
    assert load_source("tfds:mine", label="other").num_classes == 3
    with pytest.raises(InputError, match=r"without data\.drop\. Received: drop=\('label',\)"):
        load_source("tfds:mine", drop=("label",))
    with pytest.raises(InputError, match="features `image` and `nothing`"):
        load_source("tfds:mine", label="nothing")
    with pytest.raises(InputError, match="cannot load tfds:no_such_set"):
        load_source("tfds:no_such_set")
