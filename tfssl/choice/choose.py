"""Compare the candidates by what the labels say, and fit the answer.

Every candidate is fitted to the labels of all folds but one and judged by the points of that one,
whose labels it has not seen; they stay among the unlabelled points, so that it sees what it would
see. The answer is the mean of the candidates with the least log-loss: with few labels the single
best one is a lottery ticket.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tfssl.blends.blend import Blend, Member
from tfssl.blends.shares import shares_among
from tfssl.choice.candidates import UNTRIED, Candidate, shallow_candidates
from tfssl.choice.evidence import (
    FOLDS,
    Evidence,
    calibrated,
    folds_of,
    out_of_fold,
    standard_error,
)
from tfssl.choice.growth import Growth, growth
from tfssl.choice.networks import generative_candidates
from tfssl.errors import expect

# What a candidate may fail by: divergence (an `InputError`), and what NumPy and scikit-learn raise.
FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError)
# How many candidates the answer is the mean of: those with the least log-loss.
MEMBERS = 4
# Seconds, as the candidates count them, in which a set of 20,000 points and 50 columns is done.
BUDGET = 90.0
# The clock ends the comparison when it shows this many times the budget: a slower machine.
PATIENCE = 3.0
# Candidates that are this quick are tried on several foldings, which lowers the noise of the folds.
QUICK, REPEATS = 0.5, 3
# Standard errors behind the last member after which a dear candidate is given up.
HOPELESS = 2.0


@dataclass(frozen=True)
class Choice:
    """What was compared, and the answer.

    Attributes:
      evidence: one `Evidence` for each candidate that was tried, best first; none if a class has
        one label only, so that nothing can be held out.
      blend: the fitted answer.
      left_out: {name: why} of the candidates that were not tried.
      probabilities: [N_l, K] of the answer on labelled points, out of fold; None without evidence.
      label: [N_l].
      growth: what more labels would bring, or None where that cannot be told.
      seconds: how long all of it took.
    """

    evidence: tuple[Evidence, ...]
    blend: Blend
    left_out: dict[str, str]
    probabilities: np.ndarray | None
    label: np.ndarray
    growth: Growth | None
    seconds: float


@dataclass(frozen=True)
class Watch:
    """Who looks on while candidates are compared; by default, nobody.

    Attributes:
      begin: called with (name, candidates left, seconds left as the candidates count them).
      found: called with each `Evidence`.
      stored: name -> (`Evidence.outputs`, seconds) of an interrupted comparison, or None.
    """

    begin: Callable[[str, int, float], None] = lambda name, left, seconds: None  # noqa: ARG005
    found: Callable[[Evidence], None] = lambda evidence: None  # noqa: ARG005
    stored: Callable[[str], Any] = lambda name: None  # noqa: ARG005


def choose(pool, budget=BUDGET, watch=None):
    """Compare the candidates that suit a `Pool` and fit the answer to all labels: a `Choice`.

    Ctrl+C ends the comparison, and the answer is fitted to what has been found by then.
    """
    # The matrices are so small that threads take longer to wait for one another than to reckon.
    with threadpool_limits(1):
        return _choose(pool, budget, watch)


def _choose(pool, budget, watch):
    start = time.perf_counter()
    folds = folds_of(pool.label, pool.seed)
    if not folds:
        return _untried(pool, start)
    found, left_out = compare(pool, folds, budget, watch or Watch())
    best = members_of(found)
    weights = {evidence.name: 1.0 / len(best) for evidence in best}
    mean = sum(weights[e.name] * e.probabilities for e in best)
    answer = calibrated(None, mean, pool.label, 0.0)
    blend = fitted_blend(pool, best, weights, answer.temperature)
    more = growth([e.candidate for e in best if e.candidate.work(pool) < QUICK], pool)
    seconds = time.perf_counter() - start
    return Choice(tuple(found), blend, left_out, answer.probabilities, pool.label, more, seconds)


def compare(pool, folds, budget, watch):
    """([`Evidence`], best first; {name: why} of the candidates that were left out)."""
    start = time.perf_counter()
    plan, left_out = within(budget, candidates_for(pool), pool, len(folds))
    found: list[Evidence] = []
    for number, candidate in enumerate(plan):
        left = plan[number:]
        if time.perf_counter() - start > PATIENCE * budget and len(found) >= MEMBERS:
            why = f"the clock: {PATIENCE:g} times the budget of {budget:g} s had passed"
            left_out |= {c.name: why for c in left}
            break
        try:
            watch.begin(candidate.name, len(left), sum(work(c, pool, len(folds)) for c in left))
            found.append(_evidence(candidate, pool, folds, found, watch))
        except KeyboardInterrupt:
            if not found:
                raise
            left_out |= {c.name: "interrupted" for c in left}
            break
        except FAILURES as error:  # one that cannot do it must not take the others down
            left_out[candidate.name] = f"failed: {str(error).splitlines()[0]}"
            continue
        watch.found(found[-1])
    expect(bool(found), "no candidate could be fitted to these points", failed=left_out)
    found.sort(key=lambda evidence: (not evidence.is_whole, evidence.log_loss))
    return found, left_out


def candidates_for(pool):
    """Those that suit the points."""
    found = (*shallow_candidates(pool), *generative_candidates(pool))
    return found if len(pool.few) else tuple(c for c in found if not c.uses_unlabelled)


def members_of(found):
    """The best of each family, at most `MEMBERS`, of evidence in the order of its log-loss."""
    families: dict[str, Evidence] = {}
    for evidence in found:
        if evidence.is_whole:
            families.setdefault(evidence.candidate.family or evidence.name, evidence)
    return list(families.values())[:MEMBERS]


def fitted_blend(pool, best, weights, temperature):
    """The candidates of `best`, fitted to all labels, as a `Blend`."""
    every = np.arange(pool.num_labelled)
    members = tuple(
        Member(
            e.name, e.candidate.view, e.candidate.fit(pool, every), e.temperature, weights[e.name]
        )
        for e in best
    )
    # One more of each, as p(y) of M2 counts them.
    counts = np.bincount(pool.label, minlength=pool.num_classes) + 1.0
    rho = counts / counts.sum()
    blend = Blend(members, pool.views, temperature, rho, rho)
    if not len(pool.few):
        return blend
    return replace(blend, shares=shares_among(blend.as_labelled(pool.x[pool.few]), rho))


def plan_for(pool, budget=BUDGET):
    """([(name, seconds)] of what would be compared; {name: why} of what would be left out)."""
    folds = folds_of(pool.label, pool.seed)
    if not folds:
        return [], {}
    plan, left_out = within(budget, candidates_for(pool), pool, len(folds))
    return [(c.name, work(c, pool, len(folds))) for c in plan], left_out


def work(candidate, pool, folds):
    """Seconds that a candidate takes in all, as it counts them."""
    once = candidate.work(pool)
    return once * (folds * (REPEATS if once < QUICK else 1) + 1)


def within(budget, candidates, pool, folds):
    """(those that the budget allows, the quickest first; {name: why} of the others).

    Seconds are counted from the sizes and not measured, so that the same data and seed give the
    same choice on any machine.
    """
    plan: list[Candidate] = []
    left_out, spent = {}, 0.0
    for candidate in sorted(candidates, key=lambda c: c.work(pool)):
        seconds = work(candidate, pool, folds)
        if plan and spent + seconds > budget:
            left_out[candidate.name] = f"the budget: about {seconds:.0f} s of {budget:g} s"
            continue
        spent += seconds
        plan.append(candidate)
    return plan, left_out


def _evidence(candidate, pool, folds, found, watch):
    """Gathered, or as an interrupted comparison left it."""
    stored = watch.stored(candidate.name)
    if stored is not None:
        outputs, seconds = stored
        return calibrated(candidate, outputs, pool.label, seconds)
    start = time.perf_counter()
    quick = candidate.work(pool) < QUICK
    repeated = folds_of(pool.label, pool.seed, REPEATS) if quick else folds
    hopeless = None if quick else _hopeless(candidate, found, pool.label)
    outputs = out_of_fold(candidate, pool, repeated, hopeless)
    return calibrated(candidate, outputs, pool.label, time.perf_counter() - start)


def _hopeless(candidate, found, label):
    """A function: outputs so far -> whether the candidate can no longer become a member.

    Judged on the points of the first folds, by the difference to the last member on these.
    """
    if len(found) < MEMBERS:
        return None
    last = sorted(found, key=lambda evidence: evidence.log_loss)[MEMBERS - 1]

    def hopeless(outputs):
        known = np.isfinite(outputs[:, 0])
        if known.all() or known.mean() < 2 / FOLDS - 1e-9:
            return False
        ours = calibrated(candidate, outputs, label, 0.0).losses
        behind = (ours - last.losses)[known]
        return behind.mean() > HOPELESS * standard_error(behind)

    return hopeless


def _untried(pool, start):
    """The answer where nothing can be held out: what did best on the sets it was chosen on."""
    best = [c for c in candidates_for(pool) if c.name in UNTRIED]
    shares = {c.name: 1.0 / len(best) for c in best}
    evidence = [Evidence(c, np.empty((0, 0)), UNTRIED[c.name], pool.label, 0.0) for c in best]
    blend = fitted_blend(pool, evidence, shares, 1.0)
    why = "a class has one label only, so no label can be held out"
    left_out = {c.name: why for c in candidates_for(pool)}
    return Choice((), blend, left_out, None, pool.label, None, time.perf_counter() - start)
