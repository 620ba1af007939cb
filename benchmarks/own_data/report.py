"""The page of the results, docs/own_data_benchmark.md, and its picture.

python -m benchmarks.own_data.report                          write both anew
python -m benchmarks.own_data.report --show development_10    print the tables instead
python -m benchmarks.own_data.report --show development_10 --results build/own_data
"""

import argparse
import sys
from pathlib import Path

from benchmarks.machine import ROOT
from benchmarks.own_data import results
from benchmarks.own_data.picture import draw
from benchmarks.tables import own_data
from benchmarks.tables.__main__ import fill
from tfssl.errors import InputError, expect
from tfssl.pictures.drawing import write_figure

PAGE = ROOT / "docs/own_data_benchmark.md"
PICTURE = ROOT / "docs/figures/own_data_cd.png"
SHOWN = ("development_10", "final_10")


def show(folder, which):
    """Print the tables of HALF_LABELS."""
    half, _, labels = which.partition("_")
    good = half in ("development", "final") and labels.isdecimal()
    expect(good, "--show must be HALF_LABELS, such as development_10", show=which)
    for table in (own_data.methods_table, own_data.sets_table, own_data.goals_table):
        print(table(folder / "tables" / which), end="\n\n")


def write():
    """Write the page and the picture."""
    found = [own_data.standing_of(results.FOLDER / "picture" / which) for which in SHOWN]
    standings = [standing for standing in found if standing is not None]
    if standings:
        write_figure(PICTURE, draw(standings))
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python -m benchmarks.own_data.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--show", metavar="HALF_LABELS", help="print tables, write nothing")
    folder = "folder of the results to print"
    parser.add_argument("--results", type=Path, default=results.FOLDER, help=folder)
    options = parser.parse_args(arguments)
    try:
        show(options.results, options.show) if options.show else write()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
