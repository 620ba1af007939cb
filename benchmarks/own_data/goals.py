"""What the default has to reach, and whether it does: computed from a `Standing`."""

from typing import NamedTuple

from benchmarks.own_data.names import SIMPLE, SUPERVISED, TITLES
from benchmarks.own_data.sets import SETS

OURS = "auto"
BUDGET_SECONDS = 120
MOST_MEGABYTES = 2048
MOST_ECE = 0.05
FEWER = 0.8  # of the errors of the best supervised tool, where unlabelled points can help


class Verdict(NamedTuple):
    """One goal: what was asked for, whether it is reached, and what was found."""

    goal: str
    reached: bool
    found: str


def verdicts(standing):
    """The `Verdict` on every goal, in order."""
    goals = (rank, least_error, oracle, no_loss, near_best, fewer_errors, calibration, log_loss)
    return [goal(standing) for goal in (*goals, failures, budget, memory, speed)]


def rank(standing):
    ranks = standing.ranks()
    ours, rival = ranks[OURS], _least(ranks)
    found = f"{ours:.2f}; the next best, {TITLES[rival]}, {ranks[rival]:.2f}"
    return Verdict("the best mean rank of all methods", ours < ranks[rival], found)


def least_error(standing):
    errors = standing.means()
    ours, rival = errors[OURS], _least(errors)
    found = f"{_points(ours)} %; the next best, {TITLES[rival]}, {_points(errors[rival])} %"
    return Verdict("the least mean error of all methods", ours < errors[rival], found)


def oracle(standing):
    ours, theirs = standing.means()[OURS], standing.oracle()
    found = f"{_points(ours)} %; the oracle, {_points(theirs)} %"
    goal = "a mean error no higher than that of an oracle which picks the best simple tool"
    return Verdict(goal, ours <= theirs, found)


def no_loss(standing):
    """Against logistic regression."""
    goal = "on no set worse than logistic regression by more than a point and a standard error"
    return _never_worse(standing, goal, lambda _: "logreg", 0.01)


def near_best(standing):
    goal = "on no set worse than its best simple tool by more than three points and one"
    return _never_worse(standing, goal, lambda name: standing.best(name, SIMPLE), 0.03)


def _never_worse(standing, goal, rival_of, points):
    found = []
    for name in standing.names:
        rival = rival_of(name)
        gap = standing.difference(name, OURS, rival)
        if gap.exceeds(points):
            found.append(f"{name} {_signed(gap)} ({TITLES[rival]})")
    return Verdict(goal, not found, "; ".join(found) or f"on none of {len(standing.names)}")


def fewer_errors(standing):
    goal = (
        "where unlabelled points can help, at least 20 % fewer errors than the best supervised tool"
    )
    found, reached = [], True
    for name in standing.names:
        if SETS[name].helped:
            ours = standing.values(name, OURS).mean()
            theirs = standing.values(name, standing.best(name, SUPERVISED)).mean()
            enough = ours <= FEWER * theirs
            reached = reached and enough
            found.append(
                f"{name} {_points(ours)} against {_points(theirs)}{'' if enough else ' !'}"
            )
    return Verdict(goal, reached and bool(found), "; ".join(found) or "no such set was run")


def calibration(standing):
    ece = standing.means("ece")[OURS]
    return Verdict(f"a mean ECE of at most {MOST_ECE}", ece <= MOST_ECE, f"{ece:.3f}")


def log_loss(standing):
    losses = standing.means("log_loss")
    rival = _least(losses)
    found = f"{losses[OURS]:.3f}; the next best, {TITLES[rival]}, {losses[rival]:.3f}"
    return Verdict("the lowest log-loss of all methods", losses[OURS] < losses[rival], found)


def failures(standing):
    failed = standing.failures(OURS)
    return Verdict("no set where it fails", not failed, "; ".join(failed) or "none")


def budget(standing):
    goal = f"no fit longer than its budget, {BUDGET_SECONDS} s"
    return _at_most(standing, goal, "seconds", BUDGET_SECONDS, "s")


def memory(standing):
    return _at_most(standing, "within 2 GB", "megabytes", MOST_MEGABYTES, "MB")


def speed(standing):
    goal = "`predict` of 20,000 rows within a second"
    return _at_most(standing, goal, "predict_20000_seconds", 1, "s")


def _at_most(standing, goal, measure, limit, unit):
    largest, name = standing.largest(OURS, measure)
    found = f"at most {largest:.3g} {unit}, {name}"
    return Verdict(goal, largest <= limit, found)


def _least(values):
    """The method that has the least of {method: value}, ours aside."""
    return min((method for method in values if method != OURS), key=values.__getitem__)


def _points(share):
    return f"{100 * share:.1f}"


def _signed(gap):
    return f"{100 * gap.mean:+.1f} ± {100 * gap.error:.1f}"
