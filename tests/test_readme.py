"""README's tables are made from the committed result files."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_tables_are_up_to_date():
    command = [sys.executable, "-m", "benchmarks.tables", "--check"]
    subprocess.run(command, check=True, cwd=ROOT)


def test_one_spelling():
    american = ("unlabel" + "ed", "label" + "ed ")
    for path in [*ROOT.glob("*.md"), *ROOT.glob("tfssl/**/*.py"), *ROOT.glob("pipelines/*.py")]:
        text = path.read_text(encoding="utf-8").lower()
        assert not any(word in text for word in american), path
