"""`tfssl report`: one HTML page on a finished run, with all it shows inside."""

import math
import tempfile
from pathlib import Path

import numpy as np

from tfssl.pictures import of_run
from tfssl.results import breakdown, chosen, diagrams, page
from tfssl.runs.metrics import classification_metrics, entropy, reliability
from tfssl.settings import dump_settings
from tfssl.settings.kinds import method_name
from tfssl.storage.files import atomic_path

MAX_EXAMPLES = 24
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
PICTURES = {
    "learning_curves": "loss and error by epoch",
    "latent_map": "latents of test points in the plane, coloured by class",
    "analogies": "test images, each beside its style in every class",
}


def write_report(path, judged):
    """Write the page; a file of the same name is replaced."""
    text = render(judged)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(judged):
    """The page as text."""
    drawn = pictures(of_run.Subject.of(judged.opened))
    sections = [
        ("error", "Error", error_section(judged)),
        *chosen.sections(judged.opened.run),
        ("calibration", "Calibration", calibration_section(judged)),
        ("abstaining", "Abstaining", abstaining_section(judged)),
        ("curves", "Learning curves", drawn["learning_curves"]),
        ("map", "Latent map", drawn["latent_map"]),
        ("analogies", "Analogies", drawn["analogies"]),
        ("uncertain", "Most uncertain", uncertain_section(judged)),
        ("unlikely", "Least likely", unlikely_section(judged)),
        ("settings", "Settings", settings_section(judged)),
    ]
    name = judged.opened.run.folder.path.resolve().name
    return page.document(f"Report on {name}", summary(judged), sections)


def summary(judged):
    run, parts = judged.opened.run, judged.opened.experiment.split
    trained = (
        f"{method_name(run.settings)} on {judged.opened.experiment.source.name}, trained with "
        f"{len(parts.label)} labels and {len(parts.x_unlabelled)} unlabelled points."
    )
    if not judged.has_unseen_labels:
        return page.paragraph(trained)
    after = metrics_of(judged, judged.probabilities)
    error, low, high = (percent(after[key]) for key in ("error", "error_low", "error_high"))
    ece, loss = "not calibrated", "nats, not calibrated"
    if judged.calibration is not None:
        before = metrics_of(judged, judged.raw)
        ece = f"{before['calibration_error']:.3f} before"
        loss = f"{before['log_loss']:.3f} before, nats"
    elif run.is_calibrated:
        ece, loss = "calibrated by held-out labels", "nats"
    cards = [
        (f"{judged.part} error", error, f"95% interval {low} to {high}"),
        (f"{judged.part} points", str(after["examples"]), f"{len(run.class_names)} classes"),
        ("calibration error", f"{after['calibration_error']:.3f}", ece),
        ("log-loss", f"{after['log_loss']:.3f}", loss),
    ]
    return page.join([page.paragraph(trained), page.cards(cards)])


def error_section(judged):
    if not judged.has_unseen_labels:
        return page.note(
            "There are no test or validation points, so there is no error to report. Hold some out "
            "with data.num_test."
        )
    names = judged.opened.run.class_names
    predicted = judged.probabilities.argmax(axis=1)
    wrong = int((predicted != judged.label).sum())
    counts = breakdown.confusion(judged.label, predicted, len(names))
    rows = [
        (
            name,
            str(row.points),
            percent(row.recall),
            "-" if math.isnan(row.low) else f"{percent(row.low, 0)} to {percent(row.high, 0)}",
            percent(row.precision),
            "-" if row.mistaken_for is None else names[row.mistaken_for],
        )
        for name, row in zip(names, breakdown.class_rows(counts), strict=True)
    ]
    header = ("class", "points", "found", "95% interval", "precision", "mistaken for")
    parts = [
        page.paragraph(
            f"Of {len(judged.label)} {judged.part} points {wrong} are wrong. Rows are the "
            "true classes, columns what the classifier said."
        ),
        page.confusion_table(counts, names),
        page.paragraph(
            "Found: the share of a class that was recognised (recall). Precision: the share of a "
            "class among the points that were taken for it."
        ),
        page.table(header, rows),
    ]
    if judged.part == "validation":
        parts.insert(0, page.note("There are no test points; these are the validation points."))
    return page.join(parts)


def calibration_section(judged):
    calibration, run = judged.calibration, judged.opened.run
    if run.blend is not None:
        how = page.paragraph(
            f"The probabilities are calibrated by the {run.choice['labels']} labels, each held out "
            "in turn."
        )
    elif calibration is None:
        how = page.note(
            page.markup(
                "Not calibrated: $reason. Fit a temperature with <code>tfssl calibrate</code>, and "
                "write the report again.",
                reason=judged.uncalibrated_because,
            )
        )
    else:
        how = page.paragraph(
            f"The probabilities are scaled by a {calibration}. No test point was used for it."
        )
    if not judged.has_unseen_labels:
        return how
    after = judged.probabilities if run.is_calibrated else None
    curves = [None if p is None else reliability(p, judged.label) for p in (judged.raw, after)]
    named = (("uncalibrated", judged.raw), ("calibrated", after))
    columns = [(name, p) for name, p in named if p is not None]
    metrics = [metrics_of(judged, p) for _, p in columns]
    table = page.table(
        ("", *(name for name, _ in columns)),
        [
            ("calibration error", *(f"{m['calibration_error']:.3f}" for m in metrics)),
            ("log-loss, nats", *(f"{m['log_loss']:.3f}" for m in metrics)),
            ("mean confidence", *(percent(p.max(axis=1).mean()) for _, p in columns)),
            ("accuracy", *(percent(1 - m["error"]) for m in metrics)),
        ],
    )
    parts = [
        how,
        page.pair(
            page.figure(
                diagrams.reliability_diagram(*curves), "accuracy by confidence, beside the diagonal"
            ),
            table,
        ),
        page.note(
            "On the dotted line a confidence of 80% is right 80% of the time. Larger dots stand "
            f"for more {judged.part} points; calibration error is the mean distance from the "
            "line in 15 bins."
        ),
    ]
    if judged.flattered:
        parts.insert(1, page.note("The temperature was fitted to these points: it flatters."))
    return page.join(parts)


def abstaining_section(judged):
    if not judged.has_unseen_labels:
        return page.note("Without test or validation points there is nothing to measure it by.")
    curve = breakdown.coverage_curve(judged.probabilities, judged.label)
    rows = [
        (percent(coverage), f"{threshold:.3f}", percent(error))
        for threshold, coverage, error in dict.fromkeys(curve.at(share) for share in COVERAGES)
    ]
    return page.join(
        [
            page.paragraph(
                page.markup(
                    "What it gets wrong among the points it answers, if it answers only where it "
                    "is confident enough (<code>tfssl predict --abstain-below</code>)."
                )
            ),
            page.pair(
                page.figure(
                    diagrams.coverage_diagram(curve), "error by the share that is answered"
                ),
                page.table(("answered", "confidence at least", "error among them"), rows),
            ),
        ]
    )


def pictures(subject):
    """{picture of the gallery: `Markup`}, with the reason where one does not fit the run."""
    drawn = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, description in PICTURES.items():
            try:
                files = getattr(of_run, name)(subject, Path(folder))
            except of_run.DoesNotFitError as reason:
                drawn[name] = page.note(f"Not drawn: {reason}.")
                continue
            wide = name != "latent_map"
            parts = [
                page.picture((Path(folder) / f).read_bytes(), description, wide) for f in files
            ]
            drawn[name] = page.join(parts)
    return drawn


def uncertain_section(judged):
    uncertainty = entropy(judged.probabilities)
    rows = np.argsort(-uncertainty, kind="stable")[:MAX_EXAMPLES]
    remarks = [f"{uncertainty[row]:.2f} nats" for row in rows]
    text = f"The {judged.part} points with the highest entropy of the probabilities."
    return page.join([page.paragraph(text), examples(judged, rows, remarks, "entropy")])


def unlikely_section(judged):
    if judged.log_likelihood is None:
        return page.note(
            page.markup(
                "There is no log p(x): it needs a generative model. Train with "
                "<code>--set auto.with_generative=true</code> to have one beside the answer."
            )
        )
    order = np.argsort(judged.log_likelihood, kind="stable")[:MAX_EXAMPLES]
    remarks = [f"{judged.log_likelihood[i]:.1f} nats" for i in order]
    scores = {
        judged.part: judged.log_likelihood,
        "training": judged.training_log_likelihood,
    }
    return page.join(
        [
            page.paragraph(
                f"The {judged.part} points with the lowest log p(x), among "
                f"{len(judged.scored)} drawn at random: what the model finds unlike its training "
                f"data. By importance sampling with {judged.num_samples} samples."
            ),
            examples(judged, judged.scored[order], remarks, "log p(x)"),
            page.figure(diagrams.likelihood_diagram(scores), "histogram of log p(x)"),
            page.note(
                "Points that differ a lot from the rest lie far to the left. A high value is no "
                "proof that a point belongs: simple inputs, such as an empty image, can be likely."
            ),
        ]
    )


def examples(judged, rows, remarks, quantity):
    """Points as tiles, or as a table if they are not images.

    Args:
      judged: the `Judged`.
      rows: their row numbers.
      remarks: a text for each.
      quantity: what the remarks are about.
    """
    names, probabilities = judged.opened.run.class_names, judged.probabilities
    taken_for = [
        [(names[k], probabilities[row, k]) for k in np.argsort(-probabilities[row])[:2]]
        for row in rows
    ]
    guesses = [", ".join(f"{n} {percent(p, 0)}" for n, p in pair) for pair in taken_for]
    truths = ["?" if judged.label is None else names[judged.label[row]] for row in rows]
    every_name = judged.opened.experiment.names(judged.part)
    points = [every_name[row] for row in rows]
    if judged.opened.experiment.source.image_shape is None:
        table_rows = zip(points, truths, guesses, remarks, strict=True)
        return page.table(("point", "is", "taken for", quantity), table_rows, numeric=False)
    preprocessing = judged.opened.run.preprocessing
    images = preprocessing.intensities(preprocessing(judged.x[rows]))
    captions = [
        (guess, f"is {truth}, {point}", remark)
        for guess, truth, remark, point in zip(guesses, truths, remarks, points, strict=True)
    ]
    return page.tiles(images, captions)


def settings_section(judged):
    run = judged.opened.run
    record = run.folder.read_json("run.json")
    about = {"run folder": run.folder.path.resolve().name}
    about |= {f"seconds, {k}": v for k, v in dict(record.get("seconds") or {}).items()}
    about |= {f"version, {k}": v for k, v in dict(record.get("versions") or {}).items()}
    about["git revision"] = record.get("git_revision") or "-"
    rows = [*flat(dump_settings(run.settings)), *about.items()]
    return page.table(("setting", "value"), [(k, str(v)) for k, v in rows], numeric=False)


def flat(settings, prefix=""):
    """Nested settings as (key with dots, value) pairs."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def metrics_of(judged, probabilities):
    return classification_metrics(probabilities, judged.label)


def percent(share, digits=1):
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}%"
