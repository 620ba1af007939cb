"""What the paper says a step costs (section 3.3), and what ours do, per training example.

With L classes and the same networks (784-500-z50):

  M1      C_M1
  M2      C_M2 = L C_M1, because every class is enumerated
  M1+M2   C_M1 + C_M2, the latter on the 50 features of M1

  python -m benchmarks.speed --only cost                     measure, on an idle machine
  python -m benchmarks.speed.cost [RESULT.json [FIGURE.png]]   draw docs/figures/cost.png from it
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.machine import ROOT
from benchmarks.speed import cases, ours
from benchmarks.speed.turns import summary
from tfssl.pictures import drawing

NUM_CLASSES = (2, 5, 10, 20)
EXAMPLES = 500
# The authors' minibatch at 100 labels: 1 labelled and 499 unlabelled examples.
M1 = cases.Case("m1", "m1", 784, (500,), 50, "bernoulli", 0, EXAMPLES)
M2 = cases.Case("m2", "m2", 784, (500,), 50, "bernoulli", 1, EXAMPLES - 1)
M2_ON_Z1 = cases.Case("m2_on_z1", "m2", 50, (500,), 50, "gaussian", 1, EXAMPLES - 1)


def measure(rounds, tiny):
    """[{model, num_classes, median, quartiles}], in seconds per example, the cases in turns."""
    every = [
        M1,
        *(dataclasses.replace(m2, num_classes=k) for m2 in (M2, M2_ON_Z1) for k in NUM_CLASSES),
    ]
    every = [cases.tiny(case) for case in every] if tiny else every
    print(f"{len(every)} cases, {rounds} rounds ...", flush=True)
    made = [ours.make(case, cases.weights(case, 0), cases.data(case, 0)) for case in every]
    seconds: list[list[float]] = [[] for _ in every]
    for _ in range(2 + rounds):
        for case, implementation, values in zip(every, made, seconds, strict=True):
            started = time.perf_counter()
            implementation.step()
            values.append((time.perf_counter() - started) / sum(case.parts.values()))
    return [
        {
            "model": case.name,
            "num_classes": None if case.model == "m1" else case.num_classes,
            **summary(values[2:]),  # the first two warm up
        }
        for case, values in zip(every, seconds, strict=True)
    ]


def draw(result):
    """The measured costs by the number of classes beside what the paper says: a figure.

    Args:
      result: from `measure`.
    """
    (m1,) = (row["median"] for row in result if row["model"] == "m1")
    by_classes = {
        model: {row["num_classes"]: row for row in result if row["model"] == model}
        for model in ("m2", "m2_on_z1")
    }
    classes = sorted(by_classes["m2"])
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(
        classes,
        [1e3 * k * m1 for k in classes],
        "--",
        color="grey",
        label="claimed for M2: L x C_M1",
    )
    series = {
        "M2, measured": ("C0", by_classes["m2"], 0.0),
        "M1+M2, measured: C_M1 + C_M2 on z1": ("C1", by_classes["m2_on_z1"], m1),
    }
    for label, (colour, rows, before) in series.items():
        medians = [rows[k]["median"] for k in classes]
        # Distances from the median to the quartiles.
        below = [1e3 * (rows[k]["median"] - rows[k]["quartiles"][0]) for k in classes]
        above = [1e3 * (rows[k]["quartiles"][1] - rows[k]["median"]) for k in classes]
        axes.errorbar(
            classes,
            [1e3 * (before + median) for median in medians],
            (below, above),
            fmt="o-",
            color=colour,
            capsize=3,
            label=label,
        )
    axes.axhline(1e3 * m1, color="C2", linewidth=1, label="M1, measured: C_M1")
    axes.set(xlabel="classes L", ylabel="ms per training example", xticks=classes, ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def main(source=ROOT / "docs/results/speed/cost.json", target=ROOT / "docs/figures/cost.png"):
    """Draw the figure from a result file."""
    result = json.loads(Path(source).read_text(encoding="utf-8"))["result"]
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    drawing.write_figure(target, draw(result))
    print(f"wrote {target}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
