"""The pictures of a finished run: those that fit it are drawn, of the others it says why not.

  style_grid.png       M1 with 2 latent dimensions: E[x|z] over the square [-5, 5]^2
  style_grid_<k>.png   M2 or the stack with 2 latent dimensions: E[x|y,z] of class k (figure 1a)
  analogies.png        test images, each beside its style in every class (figure 1b)
  samples.png          styles from the prior (rows) in every class (columns)
  reconstructions.png  test images above E[x|z]
  latent_map.png       latents of test points in the plane, coloured by class
  learning_curves.png  loss and error by epoch

Of many classes the first ones are shown.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfssl.data.experiment import Experiment
from tfssl.errors import InputError, expect
from tfssl.pictures import drawing, of_model
from tfssl.runs.opened import OpenedRun
from tfssl.runs.trained import TrainedRun

# The rows of figure 1, by data set and number of test images. Of MNIST the authors' choice; of SVHN
# a readable one of each class, picked before its analogies were drawn.
INDICES = {
    ("mnist", 10_000): (7910, 8150, 3623, 2645, 4066, 9660, 5083, 948, 2595, 2),
    ("svhn_cropped", 26_032): (24691, 21351, 18711, 9612, 19181, 21923, 8813, 20559, 16670, 25926),
}
MAX_INDICES = 50
MAX_ROWS = 10
MAX_CLASSES = 20
MAX_STYLE_GRIDS = 10
MAX_POINTS = 2000
STYLE_LIMIT, STYLE_STEPS = 5, 15


class DoesNotFitError(Exception):
    """Why a picture cannot be drawn of a run."""


@dataclass(frozen=True)
class Subject:
    """A run with its data, and the test points to show."""

    run: TrainedRun
    experiment: Experiment
    indices: list[int]

    @classmethod
    def of(cls, opened, indices=None):
        """Of an `OpenedRun`; `indices` of test points, or None to choose them."""
        label = opened.experiment.split.label_test
        if indices is None:
            indices = default_indices(opened.run.settings.data.name, label)
        else:
            check_indices(indices, len(label))
        return cls(opened.run, opened.experiment, list(indices))

    @property
    def model(self):
        if self.run.model is None:
            raise DoesNotFitError(
                "it needs a generative model; train with --set auto.with_generative=true"
            )
        return self.run.model

    @property
    def shown(self):
        """The test points to show: x [N, D] as the model sees them, and their labels [N]."""
        self.expect_images()
        self.expect_test_points(1)
        parts = self.experiment.split
        return self.run.preprocessing(parts.x_test[self.indices]), parts.label_test[self.indices]

    def tiles(self, x, rows):
        """What the model sees or generates, [rows * C, D] -> [rows, C, height, width, channels]."""
        images = self.run.preprocessing.intensities(x)
        return images.reshape(rows, -1, *images.shape[1:])

    def expect_images(self):
        if self.experiment.source.image_shape is None:
            raise DoesNotFitError("the data are not images")

    def expect_classes(self):
        if not self.model.has_classes:
            raise DoesNotFitError("M1 does not know classes")

    def expect_test_points(self, least):
        count = len(self.experiment.split.x_test)
        if count < least:
            raise DoesNotFitError(f"there are {count} test points, and it takes {least}")


def check_indices(indices, num_test):
    """Fail unless the indices are a few of the test points."""
    expect(
        0 < len(indices) <= MAX_INDICES and all(0 <= i < num_test for i in indices),
        f"the indices must be 1 to {MAX_INDICES} numbers of test points, from 0 to {num_test - 1}",
        indices=list(indices),
    )


def default_indices(data_name, label):
    """Those of figure 1; for other data a random one of each class, the same at every call."""
    if (data_name, len(label)) in INDICES:
        return INDICES[data_name, len(label)]
    rng = np.random.default_rng(0)
    return [int(rng.choice(np.flatnonzero(label == k))) for k in np.unique(label)[:MAX_ROWS]]


def style_grid(subject, folder):
    subject.expect_images()
    model = subject.model
    dim = model.style_dim
    if dim != 2:
        raise DoesNotFitError(f"it takes a latent space of 2 dimensions, and this one has {dim}")
    styles = of_model.style_plane(STYLE_LIMIT, STYLE_STEPS)
    ticks = {0: -STYLE_LIMIT, STYLE_STEPS // 2: 0, STYLE_STEPS - 1: STYLE_LIMIT}
    columns = [f"z[0] = {ticks[i]}" if i in ticks else "" for i in range(STYLE_STEPS)]
    rows = [f"z[1] = {-ticks[i]}" if i in ticks else "" for i in range(STYLE_STEPS)]
    if not model.has_classes:
        tiles = subject.tiles(model.generate(styles).numpy(), STYLE_STEPS)
        drawing.write_grid(folder / "style_grid.png", tiles, columns, rows)
        return ["style_grid.png"]
    names = []
    samples = of_model.class_samples(model, styles, MAX_STYLE_GRIDS)
    by_class = samples.reshape(len(styles), -1, samples.shape[-1]).swapaxes(0, 1)
    for k, images in enumerate(by_class):
        names.append(f"style_grid_{k}.png")
        title = f"class {subject.run.class_names[k]}"
        drawing.write_grid(
            folder / names[-1], subject.tiles(images, STYLE_STEPS), columns, rows, title
        )
    return names


def analogies(subject, folder):
    subject.expect_classes()
    x, label = subject.shown
    fantasies = of_model.analogies(subject.model, x, label, MAX_CLASSES)
    tiles = np.concatenate([subject.tiles(x, len(x)), subject.tiles(fantasies, len(x))], axis=1)
    columns = ["test", *subject.run.class_names[:MAX_CLASSES]]
    drawing.write_grid(folder / "analogies.png", tiles, columns, subject.indices)
    return ["analogies.png"]


def samples(subject, folder):
    subject.expect_images()
    model = subject.model
    if not model.has_classes:
        drawn, columns = model.generate(of_model.prior_styles(model, MAX_ROWS**2)).numpy(), ()
    else:
        styles = of_model.prior_styles(model, MAX_ROWS)
        drawn = of_model.class_samples(model, styles, MAX_CLASSES)
        columns = subject.run.class_names[:MAX_CLASSES]
    drawing.write_grid(folder / "samples.png", subject.tiles(drawn, MAX_ROWS), columns)
    return ["samples.png"]


def reconstructions(subject, folder):
    x, _ = subject.shown
    pairs = np.concatenate([x, of_model.reconstructions(subject.model, x)])
    drawing.write_grid(
        folder / "reconstructions.png",
        subject.tiles(pairs, rows=2),
        subject.indices,
        ["test", "E[x|z]"],
    )
    return ["reconstructions.png"]


def latent_map(subject, folder):
    subject.expect_test_points(5)
    model, parts = subject.model, subject.experiment.split
    chosen = np.random.default_rng(0).permutation(len(parts.x_test))[:MAX_POINTS]
    latents = model.latents(subject.run.preprocessing(parts.x_test[chosen])).numpy()
    dim = latents.shape[1]
    if dim < 2:
        raise DoesNotFitError("the latent space has 1 dimension only")
    title = f"{model.latents_name}, {len(chosen)} test points"
    title += f", t-SNE of {dim} dimensions" if dim > 2 else ""
    points, label = of_model.planar(latents), parts.label_test[chosen]
    figure = drawing.class_map(points, label, subject.run.class_names, title)
    drawing.write_figure(folder / "latent_map.png", figure)
    return ["latent_map.png"]


def learning_curves(subject, folder):
    history = subject.run.folder.read_json("history.json")
    if not history:
        if subject.run.blend is not None:
            raise DoesNotFitError("no generative model was trained beside the answer")
        raise DoesNotFitError("the run took its M1 from another one and trained no network")
    drawing.write_figure(folder / "learning_curves.png", drawing.curves(history))
    return ["learning_curves.png"]


FIGURES = (style_grid, analogies, samples, reconstructions, latent_map, learning_curves)


def write_figures(run_dir, folder=None, indices=None):
    """Draw what fits the run; files of the same names are replaced.

    Args:
      run_dir: a finished run.
      folder: where to write; the run's own `figures` if None.
      indices: test points to reconstruct and draw analogies of; `default_indices` if None.

    Returns:
      written: paths of the files.
      skipped: {picture: why it does not fit}.
    """
    subject = Subject.of(OpenedRun.open(run_dir), indices)
    folder = Path(folder or subject.run.folder / "figures")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {folder}: {error.strerror}.") from None
    written, skipped = [], {}
    for draw in FIGURES:
        try:
            written += [folder / name for name in draw(subject, folder)]
        except DoesNotFitError as reason:
            skipped[draw.__name__] = str(reason)
    return written, skipped
