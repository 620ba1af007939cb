"""Write the tables of README and docs anew from docs/results; with --check only compare.

  python -m benchmarks.tables [--check]

Between the lines <!-- table: NAME --> and <!-- end --> stands the table of docs/results/NAME.
"""

import re
import sys
from pathlib import Path

from benchmarks.tables import own_data, paper, shipping, speed, trust

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "docs" / "results"
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES = {
    "digits_50": trust.errors_table,
    "own_data_fashion": trust.errors_table,
    "own_data_wine": trust.errors_table,
    "active/digits": trust.active_table,
    "active/mnist": trust.active_table,
    "calibration": trust.calibration_table,
    "faults/kills": trust.kills_table,
    "faults/abuse": trust.abuse_table,
    "reproduce/table1": paper.paper_table,
    "reproduce/table1_minutes": paper.minutes_table,
    "reproduce/table1_selected": paper.selected_table,
    "reproduce/table2": paper.paper_table,
    "reproduce/table3": paper.paper_table,
    "reproduce/shifts": paper.shifts_table,
    "reproduce/supervised": paper.supervised_table,
    "reproduce/likelihood": paper.likelihood_table,
    "speed/steps": speed.steps_table,
    "speed/bfloat16": speed.bfloat16_table,
    "speed/truncated_steps": speed.truncated_steps_table,
    "speed/fit": speed.fit_table,
    "speed/prediction": speed.prediction_table,
    "speed/growth": speed.growth_table,
    "speed/memory": speed.memory_table,
    "speed/startup": speed.startup_table,
    "truncation": speed.truncation_table,
    "serving/load": shipping.load_table,
    "devices/mnist_m1m2": shipping.devices_table,
    "devices/mnist_m1m2_files": shipping.device_files_table,
} | {
    f"own_data/{name}/{half}_{labels}": table
    for name, table in own_data.TABLES.items()
    for half in ("development", "final")
    for labels in (3, 10, 30)
}


def fill(text):
    """`text` with every table made anew."""
    return BLOCK.sub(lambda m: f"{m[1]}{TABLES[m[2]](RESULTS / m[2])}\n{m[3]}", text)


def main():
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        before = document.read_text(encoding="utf-8")
        after = fill(before)
        if "--check" not in sys.argv:
            document.write_text(after, encoding="utf-8")
        elif before != after:
            sys.exit(
                f"the tables of {document.relative_to(ROOT)} differ from docs/results: run "
                "python -m benchmarks.tables"
            )


if __name__ == "__main__":
    main()
