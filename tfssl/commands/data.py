"""Commands for the user's own data: look at it, choose settings for it."""

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import SetOption, quiet_tensorflow, say
from tfssl.errors import expect
from tfssl.storage.files import atomic_path

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Image folder, .csv/.tsv/.parquet table, .npz, .tfrecord file or folder, folder with "
        "x.npy and y.npy, a name such as digits or mnist, or tfds:NAME.",
    ),
]
LabelOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The label column of a table, or feature.")
]


def inspect(
    data: DataArgument,
    label: LabelOption = None,
    overrides: SetOption = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Write sample pictures of every class to this .png file.")
    ] = None,
):
    """Show what a data set holds, and which settings it would be trained with, and why."""
    from tfssl.data import inspection  # heavy
    from tfssl.pictures import of_data  # heavy

    if pictures is not None:
        _check_new(pictures, ".png")
    settings, source, chosen = chosen_settings(data, label, None, overrides)
    found = inspection.inspect(source)
    points = found.points
    lines = [
        f"{source.name}: {found.kind}, shape {list(found.shape)}, {found.dtype}, "
        f"values {found.low:g} to {found.high:g}",
        f"points: {points['labelled']} labelled, {points['unlabelled']} unlabelled, "
        f"{points['test']} test",
        *_class_lines(found.classes),
        "duplicates: " + ", ".join(f"{count} {name}" for name, count in found.duplicates.items()),
        _near_constant_line(found.near_constant),
        *(f"warning: {warning}" for warning in found.warnings),
    ]
    say("\n".join(lines))
    if settings.model == "auto":
        print_plan(settings, source)
        say("settings:")
    else:
        say(f"would train {settings.model} with a {settings.likelihood} likelihood:")
    print_chosen(chosen)
    if pictures is not None:
        of_data.contact_sheet(pictures, source)
        say(f"wrote {pictures}")


def init(
    data: DataArgument,
    output: Annotated[
        Path | None, typer.Option(help="The .toml file to write; <data>.toml if left out.")
    ] = None,
    label: LabelOption = None,
    overrides: SetOption = None,
):
    """Write a commented settings file for a data set, to edit and train with."""
    settings, source, chosen = chosen_settings(data, label, None, overrides)
    output = output or Path(f"{source.name}.toml")
    _check_new(output, ".toml")
    with atomic_path(output) as temporary:
        temporary.write_text(_toml(source, settings, chosen), encoding="utf-8")
    say(f"wrote {output}; train with:  tfssl train {output}")


def chosen_settings(data, label=None, config=None, overrides=None):
    """`tfssl.data.recommended.automatic_settings`, with TensorFlow if the data need it."""
    from tfssl.data.loading import needs_tensorflow  # heavy
    from tfssl.data.recommended import automatic_settings  # heavy

    with quiet_tensorflow() if needs_tensorflow(data) else contextlib.nullcontext():
        return automatic_settings(data, label, config, overrides)


def print_chosen(chosen):
    """A line for every automatic setting, with its reason."""
    for key, value, why in chosen:
        say(f"  {key} = {json.dumps(value)}   ({why})")


def print_plan(settings, source):
    """What a choice would compare, and for about how long."""
    with quiet_tensorflow():
        from tfssl.choice.choose import plan_for  # heavy
        from tfssl.choice.pool import Pool  # heavy
        from tfssl.data.experiment import Experiment  # heavy
    plan, left_out = plan_for(Pool.of(Experiment.prepare(settings, source)), settings.auto.budget)
    if not plan:
        say("would take the mean of a few classifiers untried: a class has one label only")
        return
    seconds = sum(seconds for _, seconds in plan)
    say(f"would compare {len(plan)} classifiers by held-out labels, in about {seconds:.0f} s:")
    for name, own in plan:
        say(f"  {name}   (about {own:.1f} s)")
    for name, why in left_out.items():
        say(f"  not {name}   ({why})")


def _class_lines(classes):
    width = max(len(name) for name in classes)
    for name, (training, test) in classes.items():
        yield f"  {name:{width}}  {training} labelled" + (f", {test} test" if test else "")


def _near_constant_line(features):
    few = ", ".join(str(name) for name in features[:5]) + (" ..." if len(features) > 5 else "")
    return f"near-constant features: {len(features)}" + (f" ({few})" if features else "")


def _toml(source, settings, chosen):
    """A settings file: what was chosen, each with its reason, and what is not as by default."""
    from tfssl.settings import Settings, dump_settings  # heavy

    reasons = {key: why for key, _, why in chosen}
    values, usual = dump_settings(settings), dump_settings(Settings())
    lines = [
        f"# Settings for {' '.join(source.name.split())}: {source.num_classes} classes, "
        f"{len(source.x)} training points.",
        "# Train with:  tfssl train THIS_FILE",
    ]
    sections = {name: value for name, value in values.items() if isinstance(value, dict)}
    plain = {name: value for name, value in values.items() if name not in sections}
    for section, own in [("", plain), *sections.items()]:
        prefix, normal = (f"{section}.", usual[section]) if section else ("", usual)
        entries = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}" + (f"  # {why}" if why else "")
            for name, value in own.items()
            if (why := reasons.get(f"{prefix}{name}")) or value != normal[name]
        ]
        if entries:
            lines += ["", *([f"[{section}]"] if section else []), *entries]
    return "\n".join(lines) + "\n"


def _check_new(path, suffix):
    expect(path.suffix == suffix, f"the file must end in {suffix}", path=str(path))
    expect(not path.exists(), f"{path} must not exist yet", hint="Choose another name.")
    expect(path.parent.is_dir(), f"the folder of {path} must exist", folder=str(path.parent))
