"""What commands print of metrics, comparisons and files."""

from tfssl.commands.common import console, say
from tfssl.storage.files import read_json


def print_metrics(metrics):
    """What metrics.json holds: errors, calibration and bounds of the points held out."""
    labels = metrics["labels"]
    say(
        f"labels used: {labels['training']} for training, "
        f"{labels['model_selection']} for model selection"
    )
    for name in ("validation", "test"):
        if name not in metrics:
            continue
        m = metrics[name]
        say(
            f"{name} error: {100 * m['error']:.2f}% "
            f"(95% interval {100 * m['error_low']:.2f} to {100 * m['error_high']:.2f}, "
            f"{m['examples']} points), log-loss {m['log_loss']:.3f} nats, "
            f"calibration error {m['calibration_error']:.3f}"
        )
        for term, value in m.get("bounds", {}).items():
            say(f"  {term:20} {value:10.3f}")


def print_choice(choice):
    """What choice.json holds: a row for each candidate, and what it comes to."""
    from rich.table import Table  # heavy

    table = Table()
    for name in ("candidate", "error %", "log-loss", "seconds", "weight"):
        table.add_column(name, no_wrap=True)
    table.add_column("note")
    for row in choice["rows"]:
        error, loss = "", ""
        if row["error"] is not None:
            error = f"{100 * row['error']:.1f} ± {100 * row['error_spread']:.1f}"
            loss = f"{row['log_loss']:.3f} ± {row['log_loss_spread']:.3f}"
        weight = f"{row['weight']:.2f}" if row["weight"] else ""
        table.add_row(row["name"], error, loss, f"{row['seconds']:.1f}", weight, row["note"])
    console.print(table)
    if any(row["note"] == "interrupted" for row in choice["rows"]):
        say("interrupted: this is the best of what had been compared by then")
    say(choice["sentence"])
    if choice["growth"]:
        say(choice["growth"])
    if choice["error"] is not None:
        say(
            f"the answer on held-out labels: {100 * choice['error']:.1f} ± "
            f"{100 * choice['error_spread']:.1f} % error"
        )


def print_likelihood(metrics):
    """What likelihood.json holds."""
    say(
        f"{metrics['part']} log p(x): {metrics['log_likelihood']:.2f} nats "
        f"(standard error {metrics['log_likelihood_error']:.2f} over {metrics['points']} points), "
        f"{metrics['samples']} samples; its bound {metrics['bound']:.2f}"
    )
    for name, title in (("recognition", "q(y|x)"), ("bayes", "Bayes' rule")):
        if name not in metrics:
            continue
        m = metrics[name]
        say(
            f"{metrics['part']} error by {title}: {100 * m['error']:.2f}% "
            f"(95% interval {100 * m['error_low']:.2f} to {100 * m['error_high']:.2f})"
        )


def print_outcomes(outcomes):
    """A table of `Outcome`s, a row for each run."""
    from rich.table import Table  # heavy

    table = Table("method", "labels", "error %", "95% interval", "log-loss")
    table.add_column("run", overflow="fold")
    for o in outcomes:
        m = o.metrics
        interval = f"{100 * m['error_low']:.2f} to {100 * m['error_high']:.2f}"
        error, loss = f"{100 * m['error']:.2f}", f"{m['log_loss']:.3f}"
        table.add_row(o.title, str(o.labels), error, interval, loss, o.name)
    console.print(table)


def print_verdicts(verdicts):
    """What each pair of methods says of the difference of their errors."""
    for v in verdicts:
        if v.p is None:
            say(f"{v.first}  against  {v.second}: {v.evidence}")
            continue
        say(f"{v.first}  against  {v.second}")
        spread = "" if v.half_width is None else f" +- {100 * v.half_width:.2f}"
        adjusted = ", by Holm" if len(verdicts) > 1 else ""
        say(f"  difference {100 * v.difference:+.2f}{spread} points of error; {v.evidence}")
        chance = "could be chance" if v.p > 0.05 else "a difference unlikely by chance alone"
        say(f"  p = {v.p:.2g}{adjusted}: {chance}")


def print_comparisons(comparisons):
    """A table of `Comparison`s, a row for each signature of an export."""
    from rich.table import Table  # heavy

    table = Table("signature", "inputs", "outputs", "off by at most")
    for c in comparisons:
        table.add_row(c.signature, ", ".join(c.inputs), ", ".join(c.outputs), f"{c.deviation:.1e}")
    console.print(table)
    say(f"by TensorFlow's C++ loader, on {comparisons[0].rows} inputs of the run's data")


def print_files(folder):
    """What is in a folder of files for devices."""
    from rich.table import Table  # heavy

    from tfssl.devices.ondevice import METADATA  # heavy

    table = Table("file for devices", "kB", "off by on average", "at most")
    for name, about in read_json(folder / METADATA)["files"].items():
        off = about["difference"]
        size = f"{about['bytes'] / 1000:.0f}"
        table.add_row(name, size, f"{off['mean']:.1e}", f"{off['largest']:.1e}")
    console.print(table)
    say(f"for devices: {folder}")
