"""Typed, validated settings of one experiment: load, override, save.

A settings file is TOML (configs/) or JSON (as saved in a run folder). Unknown keys, wrong types and
impossible values fail with the name of the key and, for a misspelt one, the nearest valid name.
"""

import difflib
import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tfssl.errors import InputError, expect
from tfssl.settings.fields import Settings


def load_settings(path=None, overrides=()):
    """Settings from a file and `key=value` overrides.

    Args:
      path: a .toml or .json file; the defaults if None.
      overrides: strings such as "m2.epochs=40"; values are TOML, bare words are strings.
    """
    return parse_settings(read_values(path, overrides), where=path)


def read_values(path=None, overrides=()):
    """What a file and overrides set, as nested dictionaries, not validated."""
    values = {} if path is None else _read(Path(path))
    for override in overrides:
        _apply(values, override)
    return values


def merged(values, over):
    """Nested dictionaries with those of `over` laid over them."""
    result = dict(values)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if both else value
    return result


def parse_settings(values, where=None):
    """Validated `Settings` from nested dictionaries."""
    try:
        # JSON semantics: lists become tuples, nothing else is converted.
        # A date, which TOML knows and no setting takes, is shown as text.
        return Settings.model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        raise InputError(_explain(error, where)) from None


def with_changes(settings, **changes):
    """Settings with changed values; a dictionary changes a section."""
    update = {
        name: getattr(settings, name).model_copy(update=value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return settings.model_copy(update=update)


def dump_settings(settings):
    """Settings as nested dictionaries of plain JSON values."""
    return settings.model_dump(mode="json")


def differences(found, wanted):
    """In what settings differ: "m2.epochs = 40 instead of 80, ...", "" if in nothing.

    Args:
      found, wanted: from `dump_settings`, or parts of it. What is not in `wanted` does not matter;
        what is missing in `found` is newer than that, and was at its default.
    """
    found = _flat(dump_settings(Settings())) | _flat(found)
    return ", ".join(
        f"{key} = {found.get(key)!r} instead of {value!r}"
        for key, value in _flat(wanted).items()
        if found.get(key) != value
    )


def _flat(values, prefix=""):
    """Nested dictionaries as one: {"m2.epochs": 40, ...}."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        key = prefix + name
        flat |= _flat(value, f"{key}.") if isinstance(value, dict) else {key: value}
    return flat


def _read(path):
    expect(
        path.suffix in (".toml", ".json"), "settings must be a .toml or .json file", path=str(path)
    )
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise InputError(f"cannot read settings {path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # of the encoding, TOML or JSON
        raise InputError(
            f"{path} is not a valid {path.suffix[1:].upper()} file: {error}."
        ) from None
    expect(isinstance(values, dict), f"{path} must hold a table of settings", found=type(values))
    return values


def _apply(values, override):
    key, separator, text = override.partition("=")
    expect(
        bool(separator) and all(part.strip() for part in key.split(".")),
        "an override must have the form key=value, such as m2.epochs=40",
        override=override,
    )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text  # a bare word: --set data.name=mnist
    *parents, name = (part.strip() for part in key.split("."))
    for parent in parents:
        values = values.setdefault(parent, {})
        expect(isinstance(values, dict), f"`{key}` must name a setting", override=override)
    values[name] = value


def _explain(error, where):
    lines = []
    for problem in error.errors():
        location = [str(part) for part in problem["loc"]]
        key = ".".join(location)
        if problem["type"] == "extra_forbidden":
            lines.append(f"unknown setting `{key}`{_nearest(location)}")
        else:
            lines.append(f"`{key}`: {problem['msg']}. Received: {problem['input']!r}")
    source = f" in {where}" if where else ""
    return f"invalid settings{source}:\n  " + "\n  ".join(lines)


def _nearest(location):
    """A clause with the valid name closest to a misspelt one, anywhere in the tree."""
    section: Any = Settings
    for part in location[:-1]:
        section = section.model_fields[part].annotation
    prefix = "".join(f"{part}." for part in location[:-1])
    here = {name: prefix + name for name in section.model_fields}
    matches = difflib.get_close_matches(location[-1], here, n=1, cutoff=0.5)
    if matches:
        return f"; did you mean `{here[matches[0]]}`?"
    return f"; valid names: {', '.join(here.values())}"
