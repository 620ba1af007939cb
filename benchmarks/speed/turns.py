"""Workers of several environments side by side, timed in turns."""

import json
import os
import statistics
import subprocess
import time

from benchmarks.speed.worker import Worker as Held

# A library's idle threads spin for a while after its last step; let them come to rest.
REST_SECONDS = 0.3


class Worker:
    """A `benchmarks.speed.worker` process.

    Args:
      implementation: its name.
      python: the interpreter of an environment that has it.
    """

    def __init__(self, implementation, python):
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.speed.worker", implementation],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def ask(self, word, **arguments):
        print(json.dumps({"do": word, **arguments}), file=self.requests, flush=True)
        line = self.answers.readline()
        answer = json.loads(line) if line else {"error": "the worker died"}
        return _checked(answer, word, arguments)

    def close(self):
        self.requests.close()
        self.process.wait()
        self.answers.close()


class Inside:
    """The same in this process: TensorFlow is imported once, and times are worth nothing."""

    def __init__(self, implementation):
        self.held = Held(implementation)

    def ask(self, word, **arguments):
        answer, _ = self.held.answer(json.dumps({"do": word, **arguments}))
        return _checked(answer, word, arguments)

    def close(self):
        self.ask("quit")


def _checked(answer, word, arguments):
    if "error" in answer:
        raise RuntimeError(f"{word} {arguments}: {answer['error']}")
    return answer


def time_in_turns(workers, rounds, steps, rest=REST_SECONDS):
    """{name: summary of the seconds per step}, the workers taking turns in every round.

    Args:
      workers: {name: `Worker`}, each holding an implementation that has warmed up.
      rounds: how many turns each gets.
      steps: steps in a turn; a turn counts as their mean.
      rest: seconds before every turn.
    """
    seconds: dict[str, list[float]] = {name: [] for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            time.sleep(rest)
            seconds[name].append(statistics.fmean(worker.ask("time", steps=steps)["seconds"]))
    return {name: summary(values) for name, values in seconds.items()}


def summary(values):
    """Median and quartiles."""
    if len(values) == 1:
        values = values * 2
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "quartiles": [low, high]}
