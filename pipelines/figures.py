"""Draw a finished run: python pipelines/figures.py runs/mine [FOLDER]."""

import sys

from tfssl.pictures.of_run import write_figures

if __name__ == "__main__":
    written, skipped = write_figures(*sys.argv[1:3])
    print(*written, sep="\n")
    print(*(f"no {name}: {reason}" for name, reason in skipped.items()), sep="\n")
