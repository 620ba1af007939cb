"""Export a run as the next version of a model: python pipelines/export.py runs/mine NAME."""

import sys
from pathlib import Path

from tfssl.export.saved_model import export

if __name__ == "__main__":
    version, comparisons = export(Path(sys.argv[1]), Path("saved_models"), sys.argv[2])
    print(version.path, f"off by at most {max(c.deviation for c in comparisons):.1e}")
