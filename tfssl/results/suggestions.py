"""Which unlabelled points to label next: uncertain, typical of the data, and unlike one another.

  score(x) = H(p(y|x)) * density(x) * (1 - max_s k(x, s)),   s the points labelled or chosen so far

H is the entropy of the calibrated probabilities, k(x, s) = exp(-|x - s|^2 / 2 h^2) compares
features, h is the median distance of a point to its 10th neighbour, and density(x) is the mean of
k(x, .) over the unlabelled points. The point with the highest score is chosen, and the next
after the scores have taken it in.
"""

import csv

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from tfssl import figures, plots
from tfssl.errors import expect
from tfssl.files import atomic_path
from tfssl.results.measures import entropy

NEIGHBOUR = 10
# Unlabelled points that stand for all: by which density is measured, and which can be chosen.
MAX_REFERENCES, MAX_CANDIDATES = 4000, 4000
MAX_SHOWN, SHEET_COLUMNS = 100, 10


def choose(features, uncertainty, labelled_features, count, seed=0):
    """Row numbers of the points to label, the most wanted first, and their scores when chosen.

    Args:
      features: [N, F] of the unlabelled points.
      uncertainty: [N], not negative.
      labelled_features: [L, F] of the points that have a label.
      count: how many to choose.
      seed: seed of the points that stand for all, where there are many.

    Returns:
      chosen: [count] integers.
      scores: [count].
    """
    expect(
        1 <= count <= len(features),
        "the number of suggestions must be at least 1 and at most the unlabelled points",
        n=count,
        unlabelled=len(features),
    )
    rng = np.random.default_rng(seed)
    references = features[rng.permutation(len(features))[:MAX_REFERENCES]]
    # Of many points, those that cannot win for want of uncertainty are not compared.
    pool = np.argsort(-uncertainty, kind="stable")[: max(count, MAX_CANDIDATES)]
    candidates = features[pool]
    width = bandwidth(references)
    score = uncertainty[pool] * similarity(candidates, references, width).mean(axis=1)
    novelty = 1.0 - similarity(candidates, labelled_features, width).max(axis=1)
    chosen: list[int] = []
    scores: list[float] = []
    for _ in range(count):
        value = score * novelty
        value[chosen] = -1.0  # a score may be 0
        best = int(value.argmax())
        chosen.append(best)
        scores.append(float(value[best]))
        near = similarity(candidates, candidates[[best]], width)[:, 0]
        novelty = np.minimum(novelty, 1.0 - near)
    return pool[chosen], np.array(scores)


def similarity(a, b, width):
    """k = exp(-|a - b|^2 / 2 width^2), [A, B]."""
    return np.exp(-euclidean_distances(a, b, squared=True) / (2.0 * width**2))


def bandwidth(features):
    """The median distance to the `NEIGHBOUR`th nearest other point; 1 if most points are equal."""
    neighbour = min(NEIGHBOUR, len(features) - 1)
    distances = euclidean_distances(features)
    return float(np.median(np.partition(distances, neighbour, axis=1)[:, neighbour])) or 1.0


def class_features(run, x, batch_size=1000):
    """What points are compared by, [N, F]: M1's latents, or what M2 sees, for stored inputs x."""
    transform = (lambda seen: seen) if run.settings.model == "m2" else run.model.latents
    batches = [
        transform(run.preprocessing(x[first : first + batch_size])).numpy()
        for first in range(0, len(x), batch_size)
    ]
    return np.concatenate(batches)


def suggest(subject, calibration, count):
    """The points of a run to label next, a dictionary each: rank, row, likeliest class, score.

    Args:
      subject: a `gallery.Subject`.
      calibration: a `Calibration`, or None for the classifier's own probabilities.
      count: how many.
    """
    run, parts = subject.run, subject.experiment.split
    expect(len(parts.x_unlabelled) > 0, f"{run.folder.path} must have unlabelled points")
    probabilities = run.probabilities(parts.x_unlabelled)
    probabilities = probabilities if calibration is None else calibration(probabilities)
    uncertainty = entropy(probabilities)
    chosen, scores = choose(
        class_features(run, parts.x_unlabelled),
        uncertainty,
        class_features(run, parts.x_labelled),
        count,
        run.settings.seed,
    )
    return [
        {
            "rank": rank,
            "row": int(parts.rows["unlabelled"][i]),
            "likeliest": run.class_names[int(probabilities[i].argmax())],
            "confidence": float(probabilities[i].max()),
            "entropy": float(uncertainty[i]),
            "score": float(score),
        }
        for rank, (i, score) in enumerate(zip(chosen, scores, strict=True), start=1)
    ]


def write_csv(path, suggestions):
    """Write the suggestions, with an empty column `label` for the answers."""
    with atomic_path(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*suggestions[0], "label"])
        writer.writeheader()
        for suggestion in suggestions:
            numbers = {k: f"{v:.6g}" for k, v in suggestion.items() if isinstance(v, float)}
            writer.writerow({**suggestion, **numbers, "label": ""})


def write_sheet(path, subject, suggestions):
    """A contact sheet of the first suggestions, row by row; the captions count them."""
    shown = suggestions[:MAX_SHOWN]
    preprocessing, source = subject.run.preprocessing, subject.experiment.source
    images = figures.to_images(preprocessing(source.x[[s["row"] for s in shown]]), preprocessing)
    columns = min(SHEET_COLUMNS, len(shown))
    missing = -len(images) % columns
    white = np.ones((missing, *images.shape[1:]), images.dtype)
    tiles = np.concatenate([images, white]).reshape(-1, columns, *images.shape[1:])
    rows = [f"{1 + columns * i} to {min(len(shown), columns * (i + 1))}" for i in range(len(tiles))]
    title = f"what to label next in {source.name}"
    plots.write_grid(path, tiles, rows=rows, title=title)
