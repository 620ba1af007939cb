"""SIGKILL at random moments: does what was killed go on as if nothing had been?

  python -m benchmarks.robustness.kills                  # 60 kills, seeded; minutes
  python -m benchmarks.robustness.kills --kills 4 --only export

A command runs in a process of its own and is killed after a random share of the time that it takes,
or, every other time in training, when it next writes a checkpoint after such a time. After every
kill each file that can be seen is read to its end. Then the same command goes on, and is
killed again, up to six times; then it may end. What it leaves is compared with what an
undisturbed process left: weights to the last bit, the same numbers, no file too many.

The raw results go to docs/results/faults/kills.json.
"""

import argparse
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.robustness.kill_jobs import Export, Reproduce, Training
from tfssl.storage.archives import read_arrays
from tfssl.storage.files import TEMPORARY, read_json, write_json

RESULTS = Path("docs/results/faults/kills.json")
KILLS_IN_A_ROW = 6
JOBS: dict[str, Any] = {"training": Training, "export": Export, "reproduce": Reproduce}
ROUND = ("training", "export", "training", "reproduce", "training")


def start(arguments, log):
    """A process that runs `tfssl` with these arguments. It is forked: TensorFlow is imported once.

    Nothing of TensorFlow has run in this process, so that nothing of it is shared.
    """
    pid = os.fork()
    if pid:
        return pid
    with open(log, "a", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    from tfssl import cli

    sys.argv = ["tfssl", *map(str, arguments)]
    code = 1
    try:
        cli.main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        os._exit(code)


def run(arguments, log, should_die=lambda: False):
    """Run to the end, or until `should_die()`: the exit code, None if it was killed."""
    pid = start(arguments, log)
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if should_die():
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)  # the writing of a small file is over soon


def check_files(folder):
    """Read every file that is not a temporary one; one that is not whole raises an error."""
    count = 0
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        inside = path.relative_to(folder).parts
        if any(part.startswith(".") for part in inside) or "tensorboard" in inside:
            continue
        if path.suffix == ".json":
            read_json(path)
        elif path.suffix == ".npz":
            read_arrays(path)
        elif path.suffix in (".keras", ".skops"):
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None, path
        count += 1
    return count


def after(seconds):
    """Whether so many seconds have passed since this call."""
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def while_writing(folder, seconds):
    """Whether a file below `folder` is being written, later than `seconds` after this call."""
    is_late = after(seconds)
    return lambda: is_late() and any(folder.glob(f"*/{TEMPORARY}*"))


def kill_and_compare(kind, job, rng, kills):
    """Kill one job up to `kills` times, let it end, and compare: records of the kills."""
    name, records, log = f"{kind}_{rng.randrange(10**9)}", [], job.home / "log"
    for turn in range(kills):
        writing = kind == "training" and rng.random() < 0.5
        moment = rng.uniform(0.05, 0.9) * job.seconds
        death = while_writing(job.folder(name), moment) if writing else after(moment)
        began = time.monotonic()
        code = run(job.arguments(name), log, death)
        if code is not None:  # it was faster than death
            assert code == 0, f"{kind}: exit code {code}: {log.read_text()[-2000:]}"
            if turn == 0:
                job.seconds = time.monotonic() - began
            break
        left = sorted(p.name for p in job.folder(name).rglob(f"{TEMPORARY}*"))
        records.append(
            {
                "kind": "checkpointing" if writing else kind,
                "seconds": round(moment, 2),
                "turn": turn + 1,
                "half_written": left,
                "whole_files_read": check_files(job.folder(name)),
            }
        )
    assert run(job.arguments(name), log) == 0, f"{kind}: {log.read_text()[-2000:]}"
    outcome = job.outcome(name)
    for record in records:
        record["same_outcome"] = outcome == job.expected
    if outcome != job.expected:
        differing = [key for key in outcome if outcome[key] != job.expected[key]]
        print(f"DIFFERENT: {name}: {differing}", flush=True)
    return records


def main(kills=60, seed=0, only=None, output=RESULTS):
    """Run everything and write the results; whether all was well."""
    import tfssl.export.saved_model
    import tfssl.training.run  # noqa: F401  before the forks

    output.parent.mkdir(parents=True, exist_ok=True)
    records: list[dict] = []
    rng, began = random.Random(seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tfssl-kills-") as home:
        jobs: dict[str, Any] = {}
        turns = itertools.cycle([only] if only else ROUND)
        while len(records) < kills:
            kind, left = next(turns), kills - len(records)
            if kind not in jobs:
                jobs[kind] = prepare(kind, Path(home) / kind)
            records += kill_and_compare(kind, jobs[kind], rng, min(KILLS_IN_A_ROW, left))
            summary = summarise(records)
            minutes = round((time.monotonic() - began) / 60, 1)
            write_json(output, {"seed": seed, "minutes": minutes, **summary, "kills": records})
            print(f"{summary['count']} kills, {summary['same_outcome']} left no trace", flush=True)
    print(json.dumps(summary, indent=2))
    return summary["same_outcome"] == summary["count"]


def prepare(kind, folder):
    """A job with what it leaves undisturbed, `expected`, and how long that took, `seconds`."""
    folder.mkdir()
    job = JOBS[kind](folder)
    job.prepare(run)
    began, log = time.monotonic(), folder / "log"
    assert run(job.arguments("whole"), log) == 0, log.read_text()
    job.seconds, job.expected = time.monotonic() - began, job.outcome("whole")
    print(f"{kind}, undisturbed: {job.seconds:.1f} s", flush=True)
    return job


def summarise(records):
    """Counts over all kills."""
    kinds = sorted({record["kind"] for record in records})
    return {
        "count": len(records),
        "same_outcome": sum(record["same_outcome"] for record in records),
        "by_kind": {kind: sum(r["kind"] == kind for r in records) for kind in kinds},
        "left_a_half_written_file": sum(bool(r["half_written"]) for r in records),
        "whole_files_read": sum(r["whole_files_read"] for r in records),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("training", "export", "reproduce"))
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    sys.exit(0 if main(options.kills, options.seed, options.only, options.output) else 1)
