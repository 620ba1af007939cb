"""Commands for the user's own data: look at it, choose settings for it."""

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import console, quiet_tensorflow
from tfssl.errors import expect
from tfssl.settings import Settings, dump_settings, merged, parse_settings, read_values
from tfssl.settings.kinds import UNBOUNDED
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
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a setting, e.g. data.colour=false."),
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
    from tfssl.data import inspection
    from tfssl.pictures import of_data

    if pictures is not None:
        _check_new(pictures, ".png")
    settings, source, chosen = automatic_settings(data, label, None, overrides)
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
    _print("\n".join(lines))
    _print(f"would train {settings.model} with a {settings.likelihood} likelihood:")
    print_chosen(chosen)
    if pictures is not None:
        of_data.contact_sheet(pictures, source)
        _print(f"wrote {pictures}")


def init(
    data: DataArgument,
    output: Annotated[
        Path | None, typer.Option(help="The .toml file to write; <data>.toml if left out.")
    ] = None,
    label: LabelOption = None,
    overrides: SetOption = None,
):
    """Write a commented settings file for a data set, to edit and train with."""
    settings, source, chosen = automatic_settings(data, label, None, overrides)
    output = output or Path(f"{source.name}.toml")
    _check_new(output, ".toml")
    with atomic_path(output) as temporary:
        temporary.write_text(_toml(source, settings, chosen), encoding="utf-8")
    _print(f"wrote {output}; train with:  tfssl train {output}")


def automatic_settings(data, label=None, config=None, overrides=None):
    """Settings for a data set: what is set explicitly, and for all else what suits the data.

    Args:
      data: a name or a path.
      label: the label column or feature, or None.
      config: a settings file, or None.
      overrides: "key=value" strings, or None.

    Returns:
      settings: the resolved `Settings`.
      source: the data set.
      chosen: [(key, value, why)] of what was chosen automatically.
    """
    from tfssl.data.loading import needs_tensorflow, source_of
    from tfssl.data.recommended import nested, recommend

    explicit = merged(read_values(config, overrides or ()), {"data": {"name": data}})
    if label is not None:
        explicit["data"]["label"] = label
    data_settings = parse_settings(explicit, where=config).data
    with quiet_tensorflow() if needs_tensorflow(data) else contextlib.nullcontext():
        source = source_of(data_settings)
    entries = recommend(source)
    wanted = merged(nested(entries), explicit)
    unused: tuple[str, ...] = {"m1": ("m2.",), "m2": ("m1.",)}.get(wanted["model"], ())
    if wanted["likelihood"] not in UNBOUNDED:  # the others do not fit components
        unused += ("data.whitening",)
    chosen = [
        entry
        for entry in entries
        if not _is_set(explicit, entry[0]) and not entry[0].startswith(unused)
    ]
    return parse_settings(merged(nested(chosen), explicit), where=config), source, chosen


def print_chosen(chosen):
    """A line for every automatic setting, with its reason."""
    for key, value, why in chosen:
        _print(f"  {key} = {json.dumps(value)}   ({why})")


def _is_set(values, key):
    """Whether nested dictionaries hold a key such as "m2.epochs"."""
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _class_lines(classes):
    width = max(len(name) for name in classes)
    for name, (training, test) in classes.items():
        yield f"  {name:{width}}  {training} labelled" + (f", {test} test" if test else "")


def _near_constant_line(features):
    few = ", ".join(str(name) for name in features[:5]) + (" ..." if len(features) > 5 else "")
    return f"near-constant features: {len(features)}" + (f" ({few})" if features else "")


def _toml(source, settings, chosen):
    """A settings file: what was chosen, each with its reason, and what is not as by default."""
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


def _print(text):
    console.print(text, soft_wrap=True, markup=False, highlight=False)
