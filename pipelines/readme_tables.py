"""Write README's result tables from the committed result files; --check only compares.

Between the lines <!-- table: NAME --> and <!-- end --> stands the table of docs/results/NAME.
"""

import re
import sys
from pathlib import Path

from tfssl import study

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text):
    """`text` with every table made anew."""

    def block(match):
        files = sorted((ROOT / "docs" / "results" / match[2]).glob("*.json"))
        results = [study.read_result(file) for file in files]
        return f"{match[1]}{study.markdown(study.in_table_order(results))}\n{match[3]}"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = fill(before)
    if "--check" not in sys.argv:
        readme.write_text(after, encoding="utf-8")
    elif before != after:
        sys.exit("README's tables differ from docs/results: run python pipelines/readme_tables.py")
