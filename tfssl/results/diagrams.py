"""The report's diagrams, as matplotlib figures: reliability, abstention, log-likelihood."""

import numpy as np
from matplotlib.figure import Figure

SIZE = (4.8, 3.8)  # inches: readable in a phone's width
BEFORE, AFTER = "#b8b8b8", "#1f5fa8"


def _axes(xlabel, ylabel):
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def choice_diagram(rows):
    """Bars of error with standard errors, the best candidate on top; dark ones are in the answer.

    Args:
      rows: of `choice.words.rows`, with an error each.
    """
    figure, axes = _axes("error on held-out labels, %", "")
    figure.set_size_inches(SIZE[0] * 1.4, 0.8 + 0.32 * len(rows))
    errors, spreads = ([100 * row[key] for row in rows] for key in ("error", "error_spread"))
    colours = [AFTER if row["weight"] else BEFORE for row in rows]
    axes.barh(range(len(rows)), errors, xerr=spreads, color=colours, height=0.6, capsize=3)
    weights = [f"  {row['weight']:.2f}" if row["weight"] else "" for row in rows]
    axes.set_yticks(
        range(len(rows)), [f"{r['name']}{w}" for r, w in zip(rows, weights, strict=True)]
    )
    axes.invert_yaxis()
    axes.set_xlim(0, None)
    return figure


def reliability_diagram(before, after=None):
    """Accuracy by confidence; on the diagonal the probabilities mean what they say.

    Args:
      before: `metrics.Reliability` of the classifier's own probabilities, or None.
      after: that of the calibrated ones, or None.
    """
    figure, axes = _axes("confidence, %", "accuracy, %")
    axes.plot([0, 100], [0, 100], color="black", linewidth=0.8, linestyle=":")
    curves = [(before, "uncalibrated", BEFORE, "--"), (after, "calibrated", AFTER, "-")]
    for curve, label, colour, line in curves:
        if curve is None:
            continue
        full = curve.points > 0
        x, y, points = 100 * curve.confidence[full], 100 * curve.accuracy[full], curve.points[full]
        axes.plot(x, y, line, color=colour, label=label, linewidth=1.5)
        axes.scatter(x, y, s=8 + 120 * points / points.sum(), color=colour, zorder=3)
    axes.set(xlim=(0, 102), ylim=(0, 102))
    axes.legend(loc="lower right", frameon=False)
    return figure


def coverage_diagram(curve):
    """Error among the answered points by their share, a `breakdown.CoverageCurve`."""
    figure, axes = _axes("answered, %", "error among them, %")
    axes.step(100 * curve.coverage, 100 * curve.error, where="post", color=AFTER, linewidth=1.5)
    axes.set(xlim=(0, 102), ylim=(0, None))
    return figure


def likelihood_diagram(scores):
    """How often each log p(x) occurs, {part: [N]}."""
    figure, axes = _axes("log p(x), nats", "share of the points")
    everything = np.concatenate(list(scores.values()))
    # A few points far away would press all others into one bar: they are in its first.
    low, high = np.quantile(everything, 0.005), everything.max()
    bins = np.linspace(low, high if high > low else low + 1.0, 41)
    for (part, values), colour in zip(scores.items(), (AFTER, BEFORE), strict=False):
        shown = np.clip(values, bins[0], bins[-1])
        weights = np.full(len(shown), 1.0 / len(shown))
        label = f"{len(values)} {part} points"
        axes.hist(shown, bins, weights=weights, color=colour, alpha=0.6, label=label)
    axes.legend(loc="upper left", frameon=False)
    return figure
