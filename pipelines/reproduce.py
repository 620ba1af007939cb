"""Make a table or figure of the paper: python pipelines/reproduce.py WHAT runs/reproduce.

WHAT is table1, table2, table3, supervised or figure1.
"""

import json
import sys
from pathlib import Path

from rich import print

from tfssl.paper import reproduction, tables

CONFIGS = Path("configs")

if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "supervised":
        print(json.dumps(reproduction.run_supervised(folder, CONFIGS)["likelihood"], indent=2))
    elif what == "figure1":
        print(*reproduction.run_figure1(folder, CONFIGS), sep="\n")
    else:
        results = reproduction.Reproduction(tables.TABLES[what], folder, CONFIGS).run()
        print(tables.terminal_table(tables.TABLES[what], results))
