"""Thousands of bad commands, settings, arrays and run folders: each must end with a message.

  python -m benchmarks.robustness.abuse                     # 2500 cases, seeded
  python -m benchmarks.robustness.abuse --cases 200 --seed 7

Every case calls the program's `main` in this process. It is passed if the exit code is 0 or 2, no
other error comes out, nothing says "Traceback", and a refusal leaves no file behind. A case is a
function of the seed and its number, so a failed one can be repeated with --first.

The counts go to docs/results/faults/abuse.json.
"""

import argparse
import contextlib
import io
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from benchmarks.robustness.abuse_cases import KINDS
from tfssl import cli
from tfssl.storage.files import TEMPORARY, write_json

RESULTS = Path("docs/results/faults/abuse.json")
TINY = ["--set=m1.epochs=1", "--set=m1.hidden_units=[8]", "--set=m1.latent_dim=4"]


def call(arguments):
    """What the program does in a process of its own: (exit code, all it printed)."""
    printed, code = io.StringIO(), 0
    before, sys.argv = sys.argv, ["tfssl", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            cli.main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    return code, printed.getvalue()


def run_case(number, seed, run):
    """One case: (its kind, its arguments, the exit code, what is wrong or None)."""
    rng = random.Random(f"{seed}/{number}")
    make = rng.choices(list(KINDS), list(KINDS.values()))[0]
    with tempfile.TemporaryDirectory(prefix="tfssl-abuse-") as home, contextlib.chdir(home):
        place = Path(home)
        (place / "out").mkdir()
        arguments = make(rng, place, run)
        given = {p for p in place.rglob("*") if p.is_file()}
        code, wrong = None, None
        try:
            code, printed = call(arguments)
        except BaseException:
            wrong = traceback.format_exc()
        else:
            left = [str(p) for p in place.rglob("*") if p.is_file() and p not in given]
            if code not in (0, 2):
                wrong = f"exit code {code}: {printed}"
            elif "Traceback" in printed:
                wrong = printed
            elif code == 2 and left:
                wrong = f"left behind: {left}"
            elif any(TEMPORARY in name for name in left):
                wrong = f"half-written: {left}"
    return make.__name__, [str(a) for a in arguments], code, wrong


def main(cases=2500, seed=0, first=0, output=None):
    """Run the cases: {"cases", "exit_codes", "failures", ...}; written to `output` if given."""
    began, failures = time.monotonic(), []
    counts: Counter = Counter()  # (kind, exit code)
    os.environ.pop("TFSSL_DATA_DIR", None)
    with tempfile.TemporaryDirectory(prefix="tfssl-abuse-run-") as home:
        run = Path(home) / "run"
        code, printed = call(["train", "--run-dir", run, "--set=m1.classifier=knn", *TINY])
        assert code == 0, printed
        for number in range(first, first + cases):
            kind, arguments, code, wrong = run_case(number, seed, run)
            counts[kind, code] += 1
            if wrong:
                failures.append({"case": number, "arguments": arguments, "wrong": wrong[-2000:]})
                print(f"FAILED case {number}: {kind} {arguments}\n{wrong[-3000:]}", flush=True)
            if (number + 1) % 500 == 0:
                print(f"{number + 1} cases, {len(failures)} failures", flush=True)
    kinds = sorted({kind for kind, _ in counts})
    result = {
        "seed": seed,
        "cases": cases,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "refused": sum(n for (_, code), n in counts.items() if code == 2),
        "accepted": sum(n for (_, code), n in counts.items() if code == 0),
        "failures": failures,
        "by_kind": {k: sum(n for (kind, _), n in counts.items() if kind == k) for k in kinds},
    }
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_json(output, result)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = main(options.cases, options.seed, options.first, options.output)
    print({key: value for key, value in found.items() if key != "failures"})
    sys.exit(1 if found["failures"] else 0)
