"""A choice in words: one row a candidate, one sentence, and lines while it is made."""

import math
from dataclasses import dataclass

import numpy as np

from tfssl.choice.choose import Watch
from tfssl.choice.evidence import standard_error

# Standard errors of a difference from which on it is called one.
CLEARLY = 1.0


def rows(choice):
    """One dictionary for each candidate: the best first, those not tried last."""
    weights = {member.name: member.weight for member in choice.blend.members}
    tried = [
        {
            "name": e.name,
            "unlabelled": e.candidate.uses_unlabelled,
            "error": e.error,
            "error_spread": e.error_spread,
            "log_loss": e.log_loss,
            "log_loss_spread": e.log_loss_spread,
            "seconds": round(e.seconds, 2),
            "weight": weights.get(e.name, 0.0),
            "note": "" if e.is_whole else "given up after the first folds",
        }
        for e in choice.evidence
    ]
    blank = dict.fromkeys(("error", "error_spread", "log_loss", "log_loss_spread"), math.nan)
    return tried + [
        {"name": name, "unlabelled": None, **blank, "seconds": 0.0}
        | {"weight": weights.get(name, 0.0), "note": why}
        for name, why in choice.left_out.items()
    ]


def sentence(choice):
    """What the labels say of the unlabelled points."""
    if not choice.evidence:
        names = ", ".join(member.name for member in choice.blend.members)
        return (
            "One class has a single label, so nothing could be compared: this is the mean of "
            f"{names}, which did best on other data."
        )
    whole = [e for e in choice.evidence if e.is_whole]
    with_them = [e for e in whole if e.candidate.uses_unlabelled]
    without = [e for e in whole if not e.candidate.uses_unlabelled]
    if not with_them or not without:
        return f"{whole[0].name}: {_percent(whole[0])}, by held-out labels."
    best, plain = (min(group, key=lambda e: e.log_loss) for group in (with_them, without))
    gain = plain.losses - best.losses
    if gain.mean() <= CLEARLY * standard_error(gain):
        if gain.mean() < -CLEARLY * standard_error(gain):
            verdict = "The unlabelled points do not help here"
        else:
            verdict = "The labels do not show that the unlabelled points help here"
        return (
            f"{verdict}: {plain.name} on the {len(choice.label)} labels has {_percent(plain)}, "
            f"{best.name} {_percent(best)}."
        )
    return (
        f"{best.name}: {_percent(best)} against {_percent(plain)} for the best without unlabelled "
        f"points, {plain.name}."
    )


def _percent(evidence):
    return f"{100 * evidence.error:.1f} ± {100 * evidence.error_spread:.1f} %"


def answer_error(choice):
    """(error, standard error) of the answer on held-out labels; NaN without evidence."""
    if choice.probabilities is None:
        return math.nan, math.nan
    wrong = choice.probabilities.argmax(axis=1) != choice.label
    share = (wrong.sum() + 1.0) / (len(wrong) + 2.0)
    return float(wrong.mean()), math.sqrt(share * (1 - share) / len(wrong))


def as_record(choice, class_names):
    """A choice as plain JSON values."""
    error, spread = answer_error(choice)
    blend = choice.blend
    shares = (blend.shares.tolist(), blend.labelled_shares.tolist())
    both = [dict(zip(class_names, values, strict=True)) for values in shares]
    record = {
        "rows": rows(choice),
        "sentence": sentence(choice),
        "growth": "" if choice.growth is None else str(choice.growth),
        "error": error,
        "error_spread": spread,
        "labels": len(choice.label),
        "temperature": blend.temperature,
        "shares": both[0],
        "labelled_shares": both[1],
    }
    return _without_nan(record)


def _without_nan(value):
    """JSON has no NaN: None takes its place."""
    if isinstance(value, dict):
        return {name: _without_nan(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def table(choice):
    """The rows as lines of text."""
    lines = [f"{'candidate':28} {'error %':>13} {'log-loss':>15} {'seconds':>8} {'weight':>7}"]
    for row in rows(choice):
        if np.isnan(row["error"]):
            lines.append(f"{row['name']:28} not tried: {row['note']}")
            continue
        error = f"{100 * row['error']:.1f} ± {100 * row['error_spread']:.1f}"
        loss = f"{row['log_loss']:.3f} ± {row['log_loss_spread']:.3f}"
        weight = f"{row['weight']:.2f}" if row["weight"] else ""
        line = f"{row['name']:28} {error:>13} {loss:>15} {row['seconds']:8.1f} {weight:>7}"
        lines.append(f"{line}  {row['note']}".rstrip())
    return "\n".join(lines)


@dataclass(frozen=True)
class ChoiceTable:
    """What a choice rests on, in plain values.

    Attributes:
      rows: one dictionary for each candidate.
      sentence: what the labels say of the unlabelled points.
      error, error_spread: of the answer, on held-out labels.
      growth: what more labels would bring, a sentence; empty where that cannot be told.
      text: the rows as lines.
    """

    rows: list
    sentence: str
    error: float
    error_spread: float
    growth: str
    text: str

    @classmethod
    def of(cls, choice):
        """Of a `Choice`."""
        error, spread = answer_error(choice)
        more = "" if choice.growth is None else str(choice.growth)
        return cls(rows(choice), sentence(choice), error, spread, more, table(choice))

    def as_frame(self):
        """The rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __str__(self):
        return "\n".join(line for line in (self.text, self.sentence, self.growth) if line)


class PrintedLines(Watch):
    """A line for each candidate as it is judged."""

    def __init__(self):
        super().__init__(begin=self._begin, found=self._found)

    def _begin(self, name, left, seconds):
        print(f"{left} candidates left, about {seconds:.0f} s: {name} ...", end="", flush=True)

    def _found(self, evidence):
        print(f" {_percent(evidence)}, log-loss {evidence.log_loss:.3f}")
