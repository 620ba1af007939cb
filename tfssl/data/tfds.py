"""Data sets of TensorFlow Datasets, which downloads and prepares them.

Pictures of several sizes, or to be brought to another, are read like those of an image folder.
"""

import contextlib
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from tfssl.data import images
from tfssl.data.npz import from_arrays
from tfssl.errors import InputError, expect


def load(name, tfds_name, label_key=None, folder=None, image_size=None, colour=None):
    """The `Source` of a prepared set, in memory.

    Args:
      name: what to call it.
      tfds_name: its name in TensorFlow Datasets.
      label_key: the feature that is the label; the set's own choice if None.
      folder: where prepared sets are; TensorFlow Datasets' own place if None.
      image_size, colour: of pictures, as `images.load` has them; None keeps those of one size.
    """
    import tensorflow_datasets as tfds

    builder = _prepared(name, tfds_name, folder)
    features, splits = builder.info.features, sorted(builder.info.splits)
    input_key, own_label_key = builder.info.supervised_keys or ("image", "label")
    label_key = label_key or own_label_key
    expect(
        "train" in splits and {input_key, label_key} <= set(features),
        f"{name} must have training points with the features `{input_key}` and `{label_key}`",
        hint="Name the label with --label NAME.",
        splits=splits,
        features=sorted(features),
    )
    inputs = features[input_key]
    resized = None in inputs.shape or image_size is not None or colour is not None
    expect(
        not resized or isinstance(inputs, tfds.features.Image),
        f"the feature `{input_key}` of {name} must be pictures to be brought to one form, or have "
        "one shape and be read without data.image_size and data.colour",
        feature=type(inputs).__name__,
        shape=inputs.shape,
    )
    # What is resized comes as files, which `images` decodes.
    decoders = tfds.decode.PartialDecoding(
        {input_key: True, label_key: True},
        decoders={input_key: tfds.decode.SkipDecoding()} if resized else None,
    )
    arrays = {}
    for split, suffix in (("train", ""), ("test", "_test")):
        if split in splits:
            columns = tfds.as_numpy(builder.as_dataset(split, batch_size=-1, decoders=decoders))
            arrays[f"x{suffix}"], arrays[f"y{suffix}"] = columns[input_key], columns[label_key]
    pictures, schema = [key for key in arrays if key.startswith("x")], None
    if resized:
        every = [picture for key in pictures for picture in arrays[key]]
        schema = images.common_form(every, image_size, colour)
    for key in pictures:
        arrays[key] = (
            _drop_grey_axis(arrays[key])
            if schema is None
            else np.stack([images.read_image(picture, schema) for picture in arrays[key]])
        )
    class_names = getattr(features[label_key], "names", None)
    if class_names:
        arrays["class_names"] = np.array(class_names)
    source = from_arrays(arrays, Path(name))
    return replace(source, name=name.replace(":", "_"), schema=schema)


def _prepared(name, tfds_name, folder):
    """The builder of a set that is on disk."""
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(tfds_name, data_dir=folder)
        with _quiet_retries():
            builder.download_and_prepare()
    except Exception as error:  # the network, the disk, a checksum: TFDS has no common error
        raise InputError(
            f"cannot load {name}: no {name}.npz in TFSSL_DATA_DIR, and TensorFlow Datasets could "
            f"not prepare it ({type(error).__name__}: {str(error).partition(chr(10))[0]}). "
            f"Put {name}.npz with x_train, y_train, x_test, y_test into a folder and set "
            "TFSSL_DATA_DIR to it, or connect to the network."
        ) from None
    return builder


@contextlib.contextmanager
def _quiet_retries():
    """Without a network every file is tried ten times, which takes minutes: not a line each."""
    logger = logging.getLogger("urllib3.connectionpool")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _drop_grey_axis(pixels):
    return pixels[..., 0] if pixels.ndim == 4 and pixels.shape[-1] == 1 else pixels
