"""Own data: the methods, the sets and the goals of a half and a number of labels.

A table's path ends in HALF_LABELS. The final half is shown once the default has been run on it, so
that nobody chooses anything by it before.
"""

from benchmarks.own_data import results
from benchmarks.own_data.goals import OURS, verdicts
from benchmarks.own_data.names import TITLES
from benchmarks.own_data.standing import Standing, critical_difference, friedman, rank_rows
from benchmarks.tables.layout import markdown

NOT_YET = "*Not yet: the final half is run once, when everything has been chosen.*"
NO_RESULTS = "*No results yet.*"


def standing_of(path):
    """The `Standing` that a path FOLDER/KIND/HALF_LABELS names; None if it is not to be shown."""
    half, _, labels = path.name.partition("_")
    standing = Standing.of(results.read_all(path.parent.parent), half, int(labels))
    shown = standing.names and (half != "final" or OURS in standing.methods)
    return standing if shown else None


def shown(table):
    """A table of a `Standing` as one of a path."""

    def of_path(path):
        standing = standing_of(path)
        if standing is None:
            return NOT_YET if path.name.startswith("final") else NO_RESULTS
        return table(standing)

    return of_path


@shown
def methods_table(standing):
    """Every method: error, rank, log-loss, ECE, time, memory; then the oracle, and the test."""
    ranks, errors = standing.ranks(), standing.means()
    losses, eces = standing.means("log_loss"), standing.means("ece")
    rows = []
    for method in sorted(errors, key=errors.__getitem__):
        longest, _ = standing.largest(method, "seconds")
        memory, _ = standing.largest(method, "megabytes")
        name = f"**{TITLES[method]}**" if method == OURS else TITLES[method]
        numbers = [f"{100 * errors[method]:.1f}", f"{ranks[method]:.2f}"]
        numbers += [f"{losses[method]:.3f}", f"{eces[method]:.3f}"]
        numbers += [f"{standing.means('seconds')[method]:.2g}", f"{longest:.2g}", f"{memory:.0f}"]
        rows.append([name, *numbers, str(len(standing.failures(method)))])
    oracle = f"{100 * standing.oracle():.1f}"
    rows.append(["*oracle: the best simple tool of each set*", oracle, *[""] * 7])
    header = ["method", "error %", "mean rank", "log-loss", "ECE", "fit s", "longest s", "MB"]
    return markdown([*header, "failed"], rows) + "\n\n" + _differences(standing)


def _differences(standing):
    """What the ranks say, in a sentence, and what is not in the table."""
    count, k = len(standing.names), len(standing.methods)
    splits = {len(standing.cells[name, "logreg"]) for name in standing.names}
    text = f"{count} sets, {' or '.join(map(str, sorted(splits)))} splits of each. "
    if count > 1 and k > 1:
        test = friedman(rank_rows(standing.table()))
        least = critical_difference(k, count)
        text += f"Friedman: chi² = {test.chi_squared:.1f}, F = {test.f:.2f}, p = {test.p:.2g}. "
        text += (
            f"Mean ranks that differ by less than {least:.2f} (Nemenyi, 5 %) are not told apart."
        )
    for method, sets in standing.left_out.items():
        text += f" {TITLES[method]} has been run on {sets} of them only and is left out."
    return text


@shown
def sets_table(standing):
    """Every set: logistic regression, the best simple tool, ours, and the paired differences."""
    ours = OURS in standing.methods
    header = ["set", "classes", "logistic regression", "best simple tool"]
    header += ["all defaults", "minus logistic regression", "minus the best"] if ours else []
    rows = []
    for name in standing.names:
        best = standing.best(name)
        row = [name, str(standing.cells[name, best][0]["classes"])]
        row += [_percent(standing.values(name, "logreg"))]
        row += [f"{_percent(standing.values(name, best))} ({TITLES[best]})"]
        if ours:
            gaps = [standing.difference(name, OURS, rival) for rival in ("logreg", best)]
            row += [_percent(standing.values(name, OURS))]
            row += [f"{100 * gap.mean:+.1f} ± {100 * gap.error:.1f}" for gap in gaps]
        rows.append(row)
    return markdown(header, rows)


@shown
def goals_table(standing):
    """Every goal: reached or missed, and by what."""
    if OURS not in standing.methods:
        return "*The default has not been run on these sets yet.*"
    found = verdicts(standing)
    rows = [[v.goal, "reached" if v.reached else "**missed**", v.found] for v in found]
    return markdown(["goal", "", "found"], rows)


def _percent(errors):
    return f"{100 * errors.mean():.1f}"


TABLES = {"methods": methods_table, "sets": sets_table, "goals": goals_table}
