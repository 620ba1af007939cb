"""Which unlabelled points to label next: those that stand for the most uncertainty.

  gain(x) = sum_u H(p(y|u)) max(0, k(x, u) - covered(u)),   covered(u) = max_s k(s, u)

u are the unlabelled points and H is the entropy of their calibrated probabilities; s are the points
labelled or chosen so far; k(a, b) = exp(-|a - b|^2 / 2 h^2) compares features, and h is the median
distance of a point to its 10th neighbour. The point with the highest gain is chosen, then the next
one: it is uncertain and in dense company, or the sum were small, and unlike what is labelled or
chosen already, or all were covered. Choosing so is within 1 - 1/e of the best choice of its size.

G. Nemhauser, L. Wolsey and M. Fisher, "An analysis of approximations for maximizing submodular set
functions", Mathematical Programming 1978; K. Wei, R. Iyer and J. Bilmes, "Submodularity in data
subset selection and active learning", ICML 2015.
"""

import csv

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from tfssl.errors import expect
from tfssl.pictures import drawing
from tfssl.runs.metrics import entropy
from tfssl.runs.predictions_csv import plain_text
from tfssl.storage.files import atomic_path

NEIGHBOUR = 10
# Of more unlabelled points as many are drawn, in proportion to their uncertainty.
MAX_POOL = 4000
MAX_SHOWN, SHEET_COLUMNS = 100, 10


def choose(features, uncertainty, labelled_features, count, seed=0):
    """Row numbers of the points to label, the most wanted first, and what they cover.

    Args:
      features: [N, F] of the unlabelled points.
      uncertainty: [N], not negative.
      labelled_features: [L, F] of the points that have a label, at least one.
      count: how many to choose.
      seed: seed of the draw, where there are many points.

    Returns:
      chosen: [count] integers.
      gains: [count], shares of all uncertainty that each of them was the first to cover.
    """
    expect(
        1 <= count <= len(features),
        "the number of suggestions must be at least 1 and at most the unlabelled points",
        n=count,
        unlabelled=len(features),
    )
    pool, weights = np.arange(len(features)), uncertainty
    if len(features) > max(count, MAX_POOL):
        pool = drawn(uncertainty, max(count, MAX_POOL), np.random.default_rng(seed))
        weights = np.ones(len(pool))  # the draw has weighed them already
    candidates = features[pool]
    width = bandwidth(candidates)
    alike = similarity(candidates, candidates, width)
    covered = similarity(candidates, labelled_features, width).max(axis=1)
    chosen: list[int] = []
    gains: list[float] = []
    for _ in range(count):
        gain = np.maximum(alike - covered, 0.0) @ weights
        gain[chosen] = -1.0  # another gain may be 0
        best = int(gain.argmax())
        chosen.append(best)
        gains.append(float(gain[best]))
        covered = np.maximum(covered, alike[best])
    return pool[chosen], np.array(gains) / (weights.sum() or 1.0)


def drawn(weights, count, rng):
    """`count` different row numbers, drawn one after another in proportion to weights [N]."""
    with np.errstate(divide="ignore"):
        waiting_time = rng.exponential(size=len(weights)) / weights
    return np.argsort(waiting_time, kind="stable")[:count]


def similarity(a, b, width):
    """k = exp(-|a - b|^2 / 2 width^2), [A, B]."""
    return np.exp(-euclidean_distances(a, b, squared=True) / (2.0 * width**2))


def bandwidth(features):
    """The median distance to the `NEIGHBOUR`th nearest other point; 1 if most points are equal."""
    neighbour = min(NEIGHBOUR, len(features) - 1)
    distances = euclidean_distances(features)
    return float(np.median(np.partition(distances, neighbour, axis=1)[:, neighbour])) or 1.0


def suggest(opened, count):
    """The points of a run to label next, a dictionary each: rank, row, file if it has one, ...

    Args:
      opened: an `OpenedRun`; its probabilities are calibrated if it is.
      count: how many.
    """
    run, parts = opened.run, opened.experiment.split
    files = opened.experiment.source.files
    expect(
        len(parts.x_unlabelled) > 0,
        f"{run.folder.path} must have unlabelled points",
        hint="Add some to its data, and train again.",
        unlabelled=0,
    )
    probabilities = run.calibrated_probabilities(parts.x_unlabelled)
    uncertainty = entropy(probabilities)
    chosen, gains = choose(
        run.class_features(parts.x_unlabelled),
        uncertainty,
        run.class_features(parts.x_labelled),
        count,
        run.settings.seed,
    )
    found: list[dict] = []
    for i, gain in zip(chosen, gains, strict=True):
        row = int(parts.rows["unlabelled"][i])
        found.append(
            {
                "rank": len(found) + 1,
                "row": row,
                **({} if files is None else {"file": files[row]}),
                "likeliest": run.class_names[int(probabilities[i].argmax())],
                "confidence": float(probabilities[i].max()),
                "entropy": float(uncertainty[i]),
                "gain": float(gain),
            }
        )
    return found


def write_csv(path, suggestions):
    """Write the suggestions, with an empty column `label` for the answers."""
    with atomic_path(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*suggestions[0], "label"])
        writer.writeheader()
        for suggestion in suggestions:
            cells = {
                name: f"{value:.6g}" if isinstance(value, float) else plain_text(value)
                for name, value in suggestion.items()
            }
            writer.writerow({**cells, "label": ""})


def write_sheet(path, opened, suggestions):
    """A contact sheet of the first suggestions, row by row; the captions count them."""
    shown = suggestions[:MAX_SHOWN]
    preprocessing, source = opened.run.preprocessing, opened.experiment.source
    images = preprocessing.intensities(preprocessing(source.x[[s["row"] for s in shown]]))
    columns = min(SHEET_COLUMNS, len(shown))
    missing = -len(images) % columns
    white = np.ones((missing, *images.shape[1:]), images.dtype)
    tiles = np.concatenate([images, white]).reshape(-1, columns, *images.shape[1:])
    rows = [f"{1 + columns * i} to {min(len(shown), columns * (i + 1))}" for i in range(len(tiles))]
    title = f"what to label next in {source.name}"
    drawing.write_grid(path, tiles, rows=rows, title=title)
