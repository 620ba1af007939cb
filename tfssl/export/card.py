"""The model card of an exported version: what it is, how it was made, how good, and its limits."""

from datetime import UTC, datetime

from tfssl.export.check import TOLERANCE
from tfssl.runs.provenance import versions
from tfssl.runs.temperature import calibration_record
from tfssl.settings import dump_settings
from tfssl.settings.kinds import DESCRIPTIONS
from tfssl.storage.files import atomic_path, write_json
from tfssl.storage.hashes import file_hashes, folder_hashes

# Those of a run that make the model.
RUN_FILES = (
    "model.keras",
    "classifier.skops",
    "preprocessing.npz",
    "split.npz",
    "calibration.json",
)


def write_card(stage, name, run, metrics, comparisons, contract):
    """Write card.json and card.md of a `Stage` whose SavedModel is complete.

    Args:
      stage: the `Stage`.
      name: the model's.
      run: the `TrainedRun`.
      metrics: its metrics.json.
      comparisons: of the signatures, see `tfssl.export.check`.
      contract: see `tfssl.export.contract`.
    """
    card = make_card(stage, name, run, metrics, comparisons)
    write_json(stage.card / "card.json", card)
    with atomic_path(stage.card / "card.md") as temporary:
        temporary.write_text(as_markdown(card, contract), encoding="utf-8")


def make_card(stage, name, run, metrics, comparisons):
    """The card as plain JSON values."""
    record = run.folder.read_json("run.json")
    return {
        "name": name,
        "version": stage.version.number,
        "exported": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": describe(run),
        "blended": blended(run),
        "data": {
            "name": run.settings.data.name,
            "classes": list(run.class_names),
            "input_shape": list(run.preprocessing.shape),
            "grey_levels": run.preprocessing.levels,
            "labels_for_training": metrics["labels"]["training"],
            "labels_for_model_selection": metrics["labels"]["model_selection"],
        },
        "errors": {
            part: {
                key: metrics[part][key]
                for key in ("error", "error_low", "error_high", "calibration_error", "examples")
            }
            for part in ("validation", "test")
            if part in metrics
        },
        "calibration": calibration_record(run.calibration),
        "limits": limits(run),
        "checked": {
            "by": "TensorFlow's C++ loader, against the Keras model on real inputs",
            "tolerance": TOLERANCE,
            "deviations": {c.signature: c.deviation for c in comparisons},
        },
        "settings": dump_settings(run.settings),
        "trained_with": record["versions"],
        "git_revision": record["git_revision"],
        "exported_with": versions(),
        "run_files": file_hashes(run.folder.path, [*RUN_FILES, *blend_files(run)]),
        "files": folder_hashes(stage.saved_model),
    }


def describe(run):
    """What the model is, in a clause."""
    text = DESCRIPTIONS[run.settings.model].format(classifier=run.settings.m1.classifier)
    names = ", ".join(f"{m['name']} ({m['weight']:.2f})" for m in blended(run))
    return f"{text}: {names}" if names else text


def blended(run):
    """Of the answer of a choice, its members with what held-out labels said of them; else none."""
    if run.blend is None:
        return []
    rows = {row["name"]: row for row in run.choice["rows"]}
    evidence = ("error", "error_spread", "log_loss", "log_loss_spread")
    return [
        {"name": m.name, "weight": m.weight, "view": m.view, "temperature": m.temperature}
        | {key: rows[m.name][key] for key in evidence}
        for m in run.blend.members
    ]


def limits(run):
    """What the model's users should know."""
    found = [
        "Every input gets one of the classes, also one that belongs to none of them.",
        "The errors are those of points from the same source as the training data; other cameras, "
        "writers or ways of preparing the input have not been measured.",
    ]
    if run.blend is not None:
        found.append(
            f"The probabilities are calibrated by {run.choice['labels']} labels, each held out in "
            "turn, and suit classes as common as among the unlabelled training points."
        )
    elif run.calibration is not None:
        found.append(
            f"The probabilities are scaled by a {run.calibration}; the calibration error above is "
            "that before."
        )
    elif not run.model.has_classes:
        found.append("The probabilities are made from the classifier's scores, not calibrated.")
    if run.preprocessing.likelihood == "bernoulli":
        found.append("log_likelihood is a density of binary images; grey ones it only compares.")
    return found


def blend_files(run):
    """Names of the files that a blend lies in."""
    if run.blend is None:
        return []
    return sorted(f"blend/{path.name}" for path in (run.folder / "blend").iterdir())


def as_markdown(card, contract):
    """The card for people, with the inputs of the contract."""
    data, lines = card["data"], [f"# {card['name']}, version {card['version']}", ""]
    lines += [f"{card['model']}. Exported {card['exported']}.", ""]
    lines += [
        f"**Data.** {data['name']}: inputs of shape {data['input_shape']}, "
        f"{len(data['classes'])} classes ({', '.join(data['classes'])}). "
        f"Labels used: {data['labels_for_training']} for training, "
        f"{data['labels_for_model_selection']} for model selection.",
        "",
        "| points | error % | 95% interval | calibration error | examples |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for part, m in card["errors"].items():
        low, high = 100 * m["error_low"], 100 * m["error_high"]
        lines.append(
            f"| {part} | {100 * m['error']:.2f} | {low:.2f} to {high:.2f} "
            f"| {m['calibration_error']:.3f} | {m['examples']} |"
        )
    if card["blended"]:
        lines += ["", "| member | weight | held-out error % | log-loss |"]
        lines += ["| --- | ---: | ---: | ---: |", *map(_member_line, card["blended"])]
    lines += ["", "**Limits.**", "", *(f"- {limit}" for limit in card["limits"]), ""]
    lines += ["| signature | inputs | off the Keras model by |", "| --- | --- | ---: |"]
    for name, deviation in sorted(card["checked"]["deviations"].items()):
        inputs = contract["signatures"][name]["inputs"]
        given = ", ".join(
            f"{key}: {i['dtype']} {['?' if n is None else n for n in i['shape']]}"
            + (f" in [{i['minimum']}, {i['maximum']}]" if "maximum" in i else "")
            for key, i in inputs.items()
        ).replace("'", "")
        lines.append(f"| {name} | {given} | {deviation:.1e} |")
    lines += [
        "",
        f"Checked by {card['checked']['by']}: probabilities are at most "
        f"{card['checked']['tolerance']} off.",
        "",
        "**Versions.** "
        + ", ".join(f"{name} {number}" for name, number in card["exported_with"].items())
        + ".",
        "",
        "**Files** (SHA-256)",
        "",
        *(f"- `{digest}` {path}" for path, digest in card["files"].items()),
        "",
        "The settings, and the hashes of the run's own files, are in card.json.",
    ]
    return "\n".join(lines) + "\n"


def _member_line(member):
    error, loss = "-", "-"
    if member["error"] is not None:
        error = f"{100 * member['error']:.1f} ± {100 * member['error_spread']:.1f}"
        loss = f"{member['log_loss']:.3f} ± {member['log_loss_spread']:.3f}"
    return f"| {member['name']} | {member['weight']:.2f} | {error} | {loss} |"
