"""Data sets of TensorFlow Datasets, which downloads and prepares them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tfssl.data.sources import from_arrays
from tfssl.errors import InputError, expect


def load(name, tfds_name, label_key=None, folder=None):
    """The `Source` of a prepared set, in memory.

    Args:
      name: what to call it.
      tfds_name: its name in TensorFlow Datasets.
      label_key: the feature that is the label; the set's own choice if None.
      folder: where prepared sets are; TensorFlow Datasets' own place if None.
    """
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(tfds_name, data_dir=folder)
        builder.download_and_prepare()
        input_key, own_label_key = builder.info.supervised_keys or ("image", "label")
        label_key = label_key or own_label_key
        parts = {
            split: tfds.as_numpy(builder.as_dataset(split, batch_size=-1))
            for split in ("train", "test")
            if split in builder.info.splits
        }
    except Exception as error:  # the network, the disk, a checksum: TFDS has no common error
        raise InputError(
            f"cannot load {name}: no {name}.npz in TFSSL_DATA_DIR, and TensorFlow Datasets could "
            f"not prepare it ({type(error).__name__}: {str(error).partition(chr(10))[0]}). "
            f"Put {name}.npz with x_train, y_train, x_test, y_test into a folder and set "
            "TFSSL_DATA_DIR to it, or connect to the network."
        ) from None
    features = builder.info.features
    expect(
        "train" in parts and {input_key, label_key} <= set(features),
        f"{name} must have training points with the features `{input_key}` and `{label_key}`",
        hint="Name the label with --label NAME.",
        splits=sorted(parts),
        features=sorted(features),
    )
    arrays = {}
    for split, suffix in (("train", ""), ("test", "_test")):
        if split in parts:
            arrays[f"x{suffix}"] = _drop_grey_axis(parts[split][input_key])
            arrays[f"y{suffix}"] = parts[split][label_key]
    arrays["class_names"] = np.array(getattr(features[label_key], "names", None) or [])
    if not len(arrays["class_names"]):
        del arrays["class_names"]
    return replace(from_arrays(arrays, Path(name)), name=name.replace(":", "_"))


def _drop_grey_axis(images):
    return images[..., 0] if images.ndim == 4 and images.shape[-1] == 1 else images
