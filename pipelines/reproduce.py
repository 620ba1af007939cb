"""Make a table or figure of the paper: python pipelines/reproduce.py WHAT runs/reproduce.

WHAT is table1, table2, table3, supervised or figure1.
"""

import json
import sys
from pathlib import Path

from rich import print

from tfssl import paper, reproduce

CONFIGS = Path("configs")

if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "supervised":
        print(json.dumps(reproduce.run_supervised(folder, CONFIGS)["likelihood"], indent=2))
    elif what == "figure1":
        print(*reproduce.run_figure1(folder, CONFIGS), sep="\n")
    else:
        results = reproduce.Reproduction(paper.TABLES[what], folder, CONFIGS).run()
        print(paper.terminal_table(paper.TABLES[what], results))
