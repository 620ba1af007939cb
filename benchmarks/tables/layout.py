"""What the tables share: Markdown, raw results, and how a time is written."""

import json


def markdown(header, rows):
    """A table whose first column is text and the others numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read(path):
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["result"]


def milliseconds(timing):
    """Median and quartiles."""
    median, low, high = (
        f"{1e3 * value:,.0f}" if value >= 0.1 else f"{1e3 * value:.3g}"
        for value in (timing["median"], *timing["quartiles"])
    )
    return f"{median} ({low} to {high})"
