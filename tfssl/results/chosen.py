"""The report's section on a choice: what was compared, and what held-out labels said of it."""

from tfssl.results import diagrams, page


def sections(run):
    """What a choice compared, as [(key, title, text)]; nothing for a model by name."""
    if run.blend is None:
        return []
    rows = [
        (
            row["name"],
            spread(row["error"], row["error_spread"], 100, 1),
            spread(row["log_loss"], row["log_loss_spread"], 1, 3),
            f"{row['seconds']:.1f}",
            f"{row['weight']:.2f}" if row["weight"] else "",
            row["note"],
        )
        for row in run.choice["rows"]
    ]
    header = ("candidate", "error %", "log-loss", "seconds", "weight", "")
    parts = [page.paragraph(run.choice["sentence"])]
    parts += [page.paragraph(run.choice["growth"])] if run.choice["growth"] else []
    tried = [row for row in run.choice["rows"] if row["error"] is not None]
    if tried:
        description = "error of each candidate on held-out labels, with its standard error"
        parts.append(page.figure(diagrams.choice_diagram(tried), description))
    parts += [
        page.table(header, rows, numeric=False),
        page.note(
            "Errors are those on labels that a candidate has not seen, each held out in turn, with "
            "their standard errors; the answer is the mean of those with a weight."
        ),
    ]
    return [("choice", "What was compared", page.join(parts))]


def spread(value, error, unit, digits):
    """ "12.3 ± 1.2", or "-" for nothing."""
    if value is None:
        return "-"
    return f"{unit * value:.{digits}f} ± {unit * error:.{digits}f}"
