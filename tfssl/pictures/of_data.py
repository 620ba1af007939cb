"""Pictures of a data set."""

import numpy as np

from tfssl.data.source import NO_LABEL
from tfssl.errors import expect

PICTURES_PER_CLASS, MAX_ROWS = 12, 20


def contact_sheet(path, source):
    """Write a picture with some images of every class, and of those without a label.

    Args:
      path: the .png file.
      source: a `Source` of images.
    """
    expect(
        source.image_shape is not None,
        "a contact sheet needs images",
        hint="Leave --pictures out.",
        shape=source.x.shape[1:],
    )
    from tfssl.pictures.drawing import write_grid

    height, width, *channels = source.image_shape
    names = [(NO_LABEL, "unlabelled"), *enumerate(source.class_names)]
    rows = {name: np.flatnonzero(source.label == k)[:PICTURES_PER_CLASS] for k, name in names}
    rows = {name: found for name, found in list(rows.items())[:MAX_ROWS] if len(found)}
    images = np.ones((len(rows), PICTURES_PER_CLASS, height, width, *(channels or [1])))
    for tiles, found in zip(images, rows.values(), strict=True):
        tiles[: len(found)] = source.x[found].reshape(-1, *tiles.shape[1:]) / source.levels
    write_grid(path, images, rows=list(rows), title=source.name)
