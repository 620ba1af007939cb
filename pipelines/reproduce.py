"""Make a table of the paper: python pipelines/reproduce.py table1 runs/reproduce."""

import sys
from pathlib import Path

from rich import print

from tfssl import paper, reproduce

if __name__ == "__main__":
    table, folder = paper.TABLES[sys.argv[1]], Path(sys.argv[2])
    results = reproduce.Reproduction(table, folder, Path("configs")).run()
    print(paper.terminal_table(table, results))
