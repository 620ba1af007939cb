"""Pictures on disk: grids of images with Pillow, curves and maps with matplotlib, all as PNG."""

import io
import itertools

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image, ImageDraw, ImageFont

from tfssl.storage.files import atomic_path

TILE = 56  # smaller images are magnified to about this many pixels
GAP = 1
MARGIN = 8
FONT_SIZE = 12
MAX_BYTES = 250_000  # of a grid
MAX_NAMED = 20  # classes that a legend can hold


def write_grid(path, images, columns=(), rows=(), title=""):
    """Write a grid of tiles with captions.

    Small images are magnified by a whole factor, so a pixel stays a square of one colour. Where the
    file would be larger than `MAX_BYTES`, images are reduced by the least whole factor that helps.

    Args:
      path: the .png file.
      images: [R, C, height, width, channels] in [0, 1]; 1 or 3 channels.
      columns: C captions above the grid, or none.
      rows: R captions left of it, or none.
      title: a line above all.
    """
    for factor in itertools.count(1):
        png = _encoded(grid(reduced(images, factor), columns, rows, title))
        if len(png) <= MAX_BYTES or factor >= min(images.shape[2:4]):
            break
    with atomic_path(path) as temporary:
        temporary.write_bytes(png)


def grid(images, columns=(), rows=(), title=""):
    """The picture that `write_grid` writes, as a Pillow image."""
    tiles = magnified(images)
    count, across, height, width, channels = tiles.shape
    font = ImageFont.load_default(FONT_SIZE)
    line = FONT_SIZE + 6
    left = MARGIN + (6 + max(round(font.getlength(_line(name))) for name in rows) if rows else 0)
    top = MARGIN + line * (bool(title) + bool(columns))
    picture = Image.new(
        "L" if channels == 1 else "RGB",
        (left + across * (width + GAP) - GAP + MARGIN, top + count * (height + GAP) - GAP + MARGIN),
        "white",
    )
    draw = ImageDraw.Draw(picture)

    def origin(row, column):
        return left + column * (width + GAP), top + row * (height + GAP)

    for row, column in np.ndindex(count, across):
        tile = tiles[row, column].squeeze(axis=-1) if channels == 1 else tiles[row, column]
        picture.paste(Image.fromarray(tile), origin(row, column))
    if title:
        draw.text((left, MARGIN + FONT_SIZE), _line(title), "black", font, anchor="ls")
    for column, name in enumerate(columns):
        x, y = origin(0, column)
        draw.text((x + width / 2, y - 5), _fitted(name, width, font), "black", font, anchor="ms")
    for row, name in enumerate(rows):
        x, y = origin(row, 0)
        draw.text((x - 6, y + height / 2), _line(name), "black", font, anchor="rm")
    return picture


def magnified(images):
    """[R, C, height, width, channels] in [0, 1] -> bytes, magnified towards `TILE` pixels."""
    factor = max(1, TILE // max(images.shape[2:4]))
    pixels = np.round(255 * images).astype(np.uint8)
    return pixels.repeat(factor, axis=2).repeat(factor, axis=3)


def reduced(images, factor):
    """Means over squares of factor x factor pixels; a remainder at the border is left out."""
    rows, columns, height, width, channels = images.shape
    height, width = height // factor, width // factor
    squares = images[:, :, : height * factor, : width * factor].reshape(
        rows, columns, height, factor, width, factor, channels
    )
    return squares.mean(axis=(3, 5))


def curves(history):
    """The loss by epoch, and the error or, of M1, the KL term: a figure with a row per stage.

    Args:
      history: {stage: one dictionary per epoch}, as in history.json; validation values ("val_...")
        need not be in every epoch.
    """
    figure = Figure(figsize=(9, 3.2 * len(history)), layout="constrained")
    all_axes = figure.subplots(len(history), 2, squeeze=False)
    for axes, (stage, epochs) in zip(all_axes, history.items(), strict=True):
        _curve(axes[0], epochs, "loss", 1.0)
        axes[0].set(title=f"{stage.upper()}: loss", ylabel="nats per example")
        if "error" in epochs[0]:
            _curve(axes[1], epochs, "error", 100.0)
            axes[1].set(title=f"{stage.upper()}: error", ylabel="%")
        else:
            _curve(axes[1], epochs, "kl_z", 1.0)
            axes[1].set(title=f"{stage.upper()}: KL[q(z|x) || p(z)]", ylabel="nats per example")
        axes[1].set_ylim(0, 1.1 * axes[1].get_ylim()[1])
    return figure


def _curve(axes, epochs, name, unit):
    """A quantity in training and, at the epochs that have it, in validation."""
    for key, label, style in ((name, "training", "-"), (f"val_{name}", "validation", ".-")):
        points = [(i, unit * epoch[key]) for i, epoch in enumerate(epochs, 1) if key in epoch]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label, linewidth=1, markersize=4)
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend()


def class_map(points, label, class_names, title):
    """Points of the plane, coloured by class: a figure.

    Args:
      points: [N, 2].
      label: [N] integers.
      class_names: K names; beyond `MAX_NAMED` no legend is drawn.
      title: a line above.
    """
    count = len(class_names)
    colours = colormaps["tab10" if count <= 10 else "tab20" if count <= 20 else "hsv"]
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.subplots()
    for k in np.unique(label):
        here = points[label == k]
        colour = colours(k if count <= MAX_NAMED else k / count)
        axes.scatter(here[:, 0], here[:, 1], s=7, color=colour, linewidths=0, label=class_names[k])
    axes.set(title=title, aspect="equal", xticks=[], yticks=[])
    if count <= MAX_NAMED:
        legend = axes.legend(
            markerscale=3, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False
        )
        for text in legend.get_texts():
            text.set_parse_math(False)  # a name with dollar signs is no formula
    return figure


def write_figure(path, figure):
    """Write a matplotlib figure."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, bbox_inches="tight", pad_inches=0.1)


def _encoded(picture):
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _line(text):
    return " ".join(str(text).split())


def _fitted(text, width, font):
    """`text`, or its beginning with an ellipsis if it is wider than `width`."""
    text = _line(text)
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"
