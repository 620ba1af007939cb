"""The critical-difference picture: mean ranks on a line, bars under those not told apart."""

from matplotlib.figure import Figure

from benchmarks.own_data.goals import OURS
from benchmarks.own_data.names import TITLES
from benchmarks.own_data.standing import cliques, critical_difference

WIDTH, LINE, BAR = 8.0, 0.26, 0.14  # inches: of all, between names, between bars
INK, OWN, GREY = "#333333", "#1f5fa8", "#b0b0b0"


def draw(standings):
    """A panel for each `Standing`, below one another: a figure."""
    heights = [_height(s) for s in standings]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    axes = figure.subplots(len(standings), squeeze=False, height_ratios=heights)[:, 0]
    for place, standing, height in zip(axes, standings, heights, strict=True):
        _panel(place, standing, height)
    return figure


def _groups(standing):
    least = critical_difference(len(standing.methods), len(standing.names))
    return cliques(standing.ranks(), least), least


def _height(standing):
    rows = (len(standing.methods) + 1) // 2
    return 1.1 + LINE * rows + BAR * len(_groups(standing)[0])


def _panel(axes, standing, height):
    """Ranks run from 1, the best, on the left; y is in inches downwards."""
    ranks, (groups, least) = standing.ranks(), _groups(standing)
    order = sorted(ranks, key=ranks.__getitem__)
    k = len(order)
    title = f"{standing.half} half, {standing.labels} labels a class, {len(standing.names)} sets"
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set(xlim=(1 - 0.42 * k, k + 0.42 * k), ylim=(height - 0.35, 0))
    axes.axis("off")
    top = 0.62
    axes.plot([1, k], [top, top], color=INK, linewidth=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [top - 0.05, top], color=INK, linewidth=1)
        axes.text(tick, top - 0.08, str(tick), ha="center", va="bottom", fontsize=8, color=INK)
    axes.plot([1, 1 + least], [0.18, 0.18], color=INK, linewidth=2)
    axes.text(1 + least / 2, 0.14, f"critical difference {least:.2f}", ha="center", fontsize=8)
    for row, group in enumerate(groups):
        y = top + BAR * (row + 0.8)
        ends = [ranks[group[0]] - 0.06, ranks[group[-1]] + 0.06]
        axes.plot(ends, [y, y], color=GREY, linewidth=3.5, solid_capstyle="butt")
    below, half = top + BAR * (len(groups) + 1.2), (k + 1) // 2
    for place, method in enumerate(order):
        left = place < half
        y = below + LINE * (place if left else k - 1 - place)
        end = 0.8 if left else k + 0.2
        colour = OWN if method == OURS else INK
        axes.plot([ranks[method]] * 2, [top, y], color=colour, linewidth=0.8)
        axes.plot([ranks[method], end], [y, y], color=colour, linewidth=0.8)
        axes.text(
            end + (-0.1 if left else 0.1),
            y,
            f"{TITLES[method]}  {ranks[method]:.1f}"
            if left
            else f"{ranks[method]:.1f}  {TITLES[method]}",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=colour,
            weight="bold" if method == OURS else "normal",
        )
