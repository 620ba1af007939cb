"""Jobs: what is there is not run again, what is missing is, in one process or in several."""

import dataclasses
import functools
import os

import pytest

from tfssl.errors import InputError
from tfssl.paper.jobs import Job, read_result, run_jobs


def note(folder, name):
    """Work that leaves a trace of its process."""
    with open(folder / "trace", "a", encoding="utf-8") as file:
        file.write(f"{name}\n")
    print(f"working on {name}")
    return {
        "test": {"error": 0.25},
        "process": os.getpid(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def fail():
    raise InputError("the data must be there.")


def die():
    os._exit(1)


def job(folder, name):
    return Job(name, f"job {name}", {"seed": 3}, functools.partial(note, folder, name))


@pytest.mark.parametrize("processes", [1, 2])
def test_only_missing_jobs_run(tmp_path, processes):
    lines = []
    jobs = [job(tmp_path, name) for name in "abc"]
    run_jobs(jobs[:1], tmp_path / "results", lines.append, processes)
    results = run_jobs(jobs, tmp_path / "results", lines.append, processes, tmp_path / "logs")
    assert sorted((tmp_path / "trace").read_text().split()) == ["a", "b", "c"]
    assert len(results) == 3
    assert lines[0].startswith("[1/1] job a: 25.00% (0 s left)")
    assert all(result["seconds"] >= 0 for result in results)
    assert all((result["process"] == os.getpid()) == (processes == 1) for result in results)
    assert len(lines) == processes + 2
    if processes == 2:
        progress = f"tail -f {tmp_path / 'logs'}/*"
        assert lines[1] == f"2 jobs to run, 2 at a time; progress: {progress}"
        assert (tmp_path / "logs" / "b.log").read_text() == "working on b\n"
        assert {result["threads"] for result in results} == {str(max(1, os.cpu_count() // 2))}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failed_job_leaves_no_result_and_its_message(tmp_path, processes):
    with pytest.raises(InputError, match="the data must be there"):
        run_jobs([Job("bad", "bad", {}, fail)], tmp_path, processes=processes)
    assert not list(tmp_path.glob("*.json"))


def test_a_worker_that_dies_is_explained(tmp_path):
    with pytest.raises(InputError, match="a worker process died"):
        run_jobs([Job("dead", "dead", {}, die)], tmp_path, processes=2)


def test_a_result_of_other_settings_is_refused(tmp_path):
    one = job(tmp_path, "a")
    run_jobs([one], tmp_path)
    assert read_result(tmp_path / "a.json")["settings"] == {"seed": 3}
    other = dataclasses.replace(one, settings={"seed": 4, "data": {"max_shift": 1}})
    differ = r"seed = 3 instead of 4, data\.max_shift = 0 instead of 1"
    with pytest.raises(InputError, match=differ):
        run_jobs([job(tmp_path, "b"), other], tmp_path)
    assert not (tmp_path / "b.json").exists()  # nothing was run in vain


def test_a_damaged_result_is_explained(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match="Remove it to run it again"):
        run_jobs([job(tmp_path, "a")], tmp_path)
    with pytest.raises(InputError, match=r"cannot read .*none\.json"):
        read_result(tmp_path / "none.json")
