"""Sources: digits, .npz files good and bad, TFSSL_DATA_DIR, and TensorFlow Datasets."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfssl.data.loading import TFDS_NAMES, load_source, needs_tensorflow, source_of
from tfssl.data.npz import read_inputs
from tfssl.errors import InputError
from tfssl.settings import DataSettings


def test_what_tensorflow_reads(tmp_path):
    for name in ("records", "pictures"):
        (tmp_path / name).mkdir()
    (tmp_path / "records" / "a.tfrecords").touch()
    (tmp_path / "pictures" / "a.png").touch()
    for name in ("mnist", "tfds:cifar10", str(tmp_path / "records"), "a.tfrecord"):
        assert needs_tensorflow(name), name
    for name in ("digits", "a.csv", "a.npz", str(tmp_path / "pictures"), "none", "a" * 5000):
        assert not needs_tensorflow(name), name
    with pytest.raises(InputError, match="File name too long"):
        load_source("a" * 5000)


def test_digits_are_whole_counts_up_to_16():
    source = load_source("digits")
    assert source.x.shape == (1797, 8, 8)
    assert source.x.dtype == np.uint8
    assert (source.x.min(), source.x.max(), source.levels) == (0, 16, 16)
    assert source.num_classes == 10
    np.testing.assert_array_equal(np.bincount(source.label)[:3], [178, 182, 177])


def test_npz_with_minus_one_for_no_label(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, x=np.ones((5, 3)), y=np.array([0, 1, -1, -1, 2]))
    source = load_source(str(path))
    assert source.name == "mine"
    assert source.class_names == ("0", "1", "2")
    assert source.levels is None
    assert len(source.x_test) == 0
    np.testing.assert_array_equal(source.label, [0, 1, -1, -1, 2])


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [("float16", "float32"), ("int16", "float32"), ("int32", "float64"), ("float64", "float64")],
)
def test_features_keep_their_digits(stored, loaded, tmp_path):
    """float32 holds whole numbers up to 2^24 only."""
    x = np.array([[2**24 + 1], [2**24 + 2]] if loaded == "float64" else [[1001], [1002]], stored)
    np.savez(tmp_path / "mine.npz", x=x, y=[0, 1])
    source = load_source(str(tmp_path / "mine.npz"))
    assert source.x.dtype == loaded
    np.testing.assert_array_equal(source.x, x)


def test_npz_with_images_test_points_and_names(tmp_path):
    path = tmp_path / "mine.npz"
    x = np.zeros((4, 6, 6), np.uint8)
    np.savez(
        path, x_train=x, y_train=[0, 1, 0, 1], x_test=x[:2], y_test=[1, 0], class_names=["a", "b"]
    )
    source = load_source(str(path))
    assert source.class_names == ("a", "b")
    assert source.levels == 255
    assert source.image_shape == (6, 6)
    np.testing.assert_array_equal(source.label_test, [1, 0])


def test_named_data_comes_from_the_data_folder_first(tmp_path, monkeypatch):
    monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path))
    x = np.zeros((3, 28, 28), np.uint8)
    np.savez(tmp_path / "mnist.npz", x_train=x, y_train=[0, 1, 2], x_test=x, y_test=[0, 1, 2])
    source = load_source("mnist")
    assert (source.name, source.num_classes, len(source.x)) == ("mnist", 3, 3)


@pytest.mark.parametrize(
    ("name", "option", "known"),
    [
        ("digits", "label", "none"),
        ("mnist", "image_size", "none"),
        ("some.npz", "label", "none"),
        ("arrays", "label", "none"),
        ("table.csv", "colour", "data.label, data.drop"),
        ("some.tfrecord", "drop", "data.label, data.image_size, data.colour"),
        ("pictures", "label", "data.image_size, data.colour"),
        ("pictures", "drop", "data.image_size, data.colour"),
        ("tfds:mnist", "drop", "data.label, data.image_size, data.colour"),
    ],
)
def test_settings_of_other_kinds_of_data_are_refused(name, option, known, tmp_path):
    """Before anything is read: the files are empty."""
    path = tmp_path / name
    if name == "pictures":
        path.mkdir()
    elif name == "arrays":
        path.mkdir()
        (path / "x.npy").touch()
    elif "." in name:
        path.touch()
    values = {"label": "kind", "drop": ("id",), "image_size": (3, 2), "colour": False}
    pattern = rf"without data\.{option}\b.*{option}={re.escape(repr(values[option]))}.*: {known}\."
    with pytest.raises(InputError, match=pattern):
        load_source(str(path) if path.exists() else name, **{option: values[option]})


@pytest.mark.parametrize("name", ["mnist", "svhn_cropped", "smallnorb"])
def test_tensorflow_datasets_on_disk(name, tmp_path, monkeypatch, rng):
    """A few examples in the real data set's own format, written and read by TFDS itself."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    tfds_name, label_key = TFDS_NAMES[name]
    builder = tfds.builder(tfds_name, data_dir=str(tmp_path))
    features = builder.info.features
    num_classes = features[label_key].num_classes

    def dataset(count):
        columns = {}
        for key, spec in features.items():
            if len(spec.shape) == 3:
                columns[key] = rng.integers(0, 256, size=(count, *spec.shape)).astype(np.uint8)
            elif spec.tf_dtype == tf.string:
                columns[key] = [f"{i}" for i in range(count)]
            else:
                columns[key] = np.arange(count) % (num_classes if key == label_key else 2)
        return columns["image"], tf.data.Dataset.from_tensor_slices(columns)

    images, train = dataset(2 * num_classes)
    tfds.dataset_builders.store_as_tfds_dataset(
        name=tfds_name,
        version=str(builder.version),
        features=features,
        split_datasets={"train": train, "test": dataset(3)[1]},
        data_dir=str(tmp_path),
    )
    monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path))
    source = load_source(name)
    assert source.class_names == tuple(features[label_key].names)
    np.testing.assert_array_equal(np.bincount(source.label), [2] * num_classes)
    assert len(source.x_test) == 3
    images = images[..., 0] if images.shape[-1] == 1 else images
    # TFDS shuffles what it stores: the images and their labels must still belong together.
    expected = {(image.tobytes(), i % num_classes) for i, image in enumerate(images)}
    found = zip(source.x, source.label, strict=True)
    assert {(image.tobytes(), int(label)) for image, label in found} == expected


def test_smallnorb_from_its_own_files(tmp_path, monkeypatch, rng):
    """TFDS reads tiny files of the published binary format; one camera's images are used."""
    import tensorflow_datasets as tfds

    magic = {np.dtype(np.uint8): 0x1E3D4C55, np.dtype(np.int32): 0x1E3D4C54}
    cameras = {}

    def write(path, array):
        sides = np.ones(max(3, array.ndim), "<i4")
        sides[: array.ndim] = array.shape
        head = np.array([magic[array.dtype], array.ndim], "<i4")
        path.write_bytes(head.tobytes() + sides.tobytes() + array.tobytes())

    for split, count in (("training", 10), ("testing", 5)):
        cameras[split] = rng.integers(0, 256, size=(count, 2, 96, 96)).astype(np.uint8)
        write(tmp_path / f"{split}_dat", cameras[split])
        write(tmp_path / f"{split}_cat", np.arange(count, dtype=np.int32) % 5)
        # instance, elevation, azimuth (even numbers), lighting
        write(tmp_path / f"{split}_info", np.tile(np.int32([4, 8, 34, 5]), (count, 1)))
    monkeypatch.setattr(
        tfds.download.DownloadManager,
        "download_and_extract",
        lambda _, urls: {name: str(tmp_path / name) for name in urls},
    )
    monkeypatch.setenv("TFSSL_DATA_DIR", str(tmp_path / "data"))
    source = load_source("smallnorb")
    assert source.class_names[:2] == ("four-legged animals", "human figures")
    assert (source.levels, source.image_shape, source.x.dtype) == (255, (96, 96), np.uint8)
    for split, x, label in (
        ("training", source.x, source.label),
        ("testing", source.x_test, source.label_test),
    ):
        expected = {(image[0].tobytes(), i % 5) for i, image in enumerate(cameras[split])}
        found = {(image.tobytes(), int(k)) for image, k in zip(x, label, strict=True)}
        assert found == expected


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.ones((3, 2))}, r"must hold arrays x and y.*found=\['x'\]"),
        ({"x": np.ones((3, 2)), "y": [0, 1]}, "must have the same length"),
        ({"x": np.ones((3, 2)), "y": [0.0, 1.0, 2.0]}, "labels must be integers"),
        ({"x": np.ones((3, 2)), "y": [0, 1, -2]}, "or -1 for no label.*smallest=-2"),
        ({"x": np.ones(3), "y": [0, 1, 2]}, r"must have the shape \[N, ...\]"),
        ({"x": np.full((3, 2), np.nan), "y": [0, 1, 1]}, "must be finite.*not_finite=6"),
        ({"x": np.array([["a"], ["b"]]), "y": [0, 1]}, "uint8 images or numbers"),
        ({"x": np.ones((0, 2)), "y": np.zeros(0, int)}, "at least one example"),
        (
            {"x": np.ones((2, 2)), "y": [0, 1], "x_test": np.ones((2, 3)), "y_test": [0, 1]},
            "training and test inputs must have the same shape",
        ),
        ({"x": np.ones((2, 2)), "y": [0, 1], "class_names": ["a"]}, "must name every class"),
    ],
)
def test_bad_files_are_explained(arrays, message, tmp_path):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_source(str(tmp_path / "bad.npz"))


@settings(max_examples=200, deadline=None)
@given(
    x=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.uint8, np.int64, np.bool_, np.complex64, "U3"]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    y=hnp.arrays(
        st.sampled_from([np.int64, np.uint8, np.float32, np.bool_, "U2"]),
        hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
    ),
)
def test_any_arrays_load_or_raise_an_input_error(x, y, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "any.npz"
    np.savez(path, x=x, y=y)
    try:
        source = load_source(str(path))
    except InputError:
        return
    assert len(source.x) == len(source.label) > 0
    assert np.isfinite(source.x).all()
    assert source.label.min() >= -1


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_raise_an_input_error(content, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    for suffix in ("npz", "npy"):
        path = folder / f"any.{suffix}"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"any\.np"):
            read_inputs(path)


def test_truncated_file_is_corrupt(tmp_path):
    path = tmp_path / "cut.npz"
    np.savez(path, x=np.ones((100, 10)), y=np.zeros(100, int))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"cut\.npz is damaged"):
        load_source(str(path))


def test_pickled_objects_are_refused(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, x=np.array([{"a": 1}], dtype=object), y=[0])
    with pytest.raises(InputError, match="must not hold Python objects"):
        load_source(str(path))


def test_missing_and_unknown_names():
    with pytest.raises(InputError, match=r"cannot read nowhere\.npz"):
        load_source("nowhere.npz")
    with pytest.raises(InputError, match=r"must be one of digits, mnist.*name='mnits'"):
        load_source("mnits")


def test_read_inputs(tmp_path):
    x = np.arange(6).reshape(3, 2)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "no.npz", other=x)
    np.testing.assert_array_equal(read_inputs(tmp_path / "x.npy"), x)
    np.testing.assert_array_equal(read_inputs(tmp_path / "x.npz"), x)
    with pytest.raises(InputError, match="must hold an array `x`"):
        read_inputs(tmp_path / "no.npz")
    with pytest.raises(InputError, match=r"must be an \.npz or \.npy file"):
        read_inputs(tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("shape", "dtype", "is_image"),
    [
        ((5, 4), np.uint8, True),
        ((5, 4, 1), np.uint8, True),
        ((5, 4, 3), np.uint8, True),
        ((5, 4, 2), np.uint8, False),
        ((5,), np.uint8, False),
        ((5, 4), np.float32, False),  # of unknown range
    ],
)
def test_what_counts_as_an_image(shape, dtype, is_image, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((4, *shape), dtype), y=np.arange(4) % 2)
    assert load_source(str(tmp_path / "a.npz")).image_shape == (shape if is_image else None)


def test_a_setting_that_reading_does_not_know_is_not_swallowed():
    with pytest.raises(TypeError, match="num_labeled"):
        load_source("digits", num_labeled=10)


def test_the_settings_of_reading_reach_it(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,2\n2,y,2\n")
    data = DataSettings(name=str(tmp_path / "t.csv"), label="b", drop=("c",))
    source = source_of(data)
    assert (source.class_names, source.x.tolist()) == (("x", "y"), [[1.0], [2.0]])
    with pytest.raises(InputError, match=r"without data\.image_size, data\.colour"):
        source_of(data.model_copy(update={"drop": (), "image_size": (2, 2), "colour": True}))
