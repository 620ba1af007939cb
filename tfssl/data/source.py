"""A data set: its points, their labels, and what is known of how they were read."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfssl.errors import expect

NO_LABEL = -1


@dataclass(frozen=True)
class Source:
    """A data set. A label of -1 means "no label".

    Attributes:
      name: what to call it.
      x: [N, ...] training inputs, uint8 images or features in float32 or float64; a memory map if
        they stay on disk.
      label: [N] integers in {-1, 0, ..., num_classes - 1}.
      x_test, label_test: the data set's own test points, perhaps none.
      class_names: one per class.
      levels: grey levels above black (255 for uint8 images, 16 for the digits); None for features
        that are not images.
      schema: how files were read, plain data by which new ones are read alike, see `new_inputs`;
        None for arrays, which are taken as they are.
      table: the `Table` whose columns became x and x_test, None for data that is no table.
      files, files_test: the names of the files that the inputs were read from, below the data set's
        folder; None if they have none of their own.
    """

    name: str
    x: np.ndarray
    label: np.ndarray
    x_test: np.ndarray
    label_test: np.ndarray
    class_names: tuple[str, ...]
    levels: int | None
    schema: dict | None = None
    table: Any = None
    files: tuple[str, ...] | None = None
    files_test: tuple[str, ...] | None = None

    @property
    def num_classes(self):
        return len(self.class_names)

    @property
    def image_shape(self):
        """(height, width[, 1 or 3 channels]) or None for features that are not images."""
        shape = self.x.shape[1:]
        pictorial = len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))
        return shape if self.levels is not None and pictorial else None

    def shaped_by(self, rows, schema=None):
        """The same with features of a table as training rows decide them; other data is as it is.

        Args:
          rows: [n] row numbers of the training points.
          schema: the `Source.schema` that such rows have decided before, to be used instead.
        """
        if self.table is None:
            return self
        schema = schema or self.table.schema(rows)
        x, x_test = self.table.features(schema)
        return replace(self, x=x, x_test=x_test, schema=schema)


def check_classes(names, where, rule):
    """Fail unless there are at least two classes."""
    expect(
        len(names) >= 2,
        f"{where} must have labels of at least two classes: {rule}",
        classes=list(names),
    )
