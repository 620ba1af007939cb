"""The folder of an exported model, as TF Serving reads it.

  <name>/<version>/              the SavedModel; a server takes the largest number
  <name>/cards/<version>/        about that version, for people and for `tfssl check-export`:
    contract.json                  what it takes and gives, for the server
    card.json, card.md             the model card
    reference.npz                  inputs, and what the Keras model makes of them
  <name>/tflite/<version>/       the files for devices, if asked for, see `tfssl.devices.files`

A new version is written to a hidden folder beside and renamed in one step when it is complete, so
a server never sees half of one. What fails or is interrupted is removed.
"""

import contextlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tfssl.errors import InputError, expect
from tfssl.storage.locks import locked

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
PATTERN = "*?[\\"
STAGE = ".export-"
LOCK = ".lock"


def check_name(name):
    """Fail unless `name` can be a model's: part of a path and of an address, and no more."""
    expect(
        NAME.fullmatch(name) is not None,
        "a model's name must be 1 to 100 letters, digits, '-', '_' or '.', and start with one of "
        "the first two",
        name=name,
    )


def check_folder(folder):
    """Fail if TensorFlow would take the path of `folder` for a pattern, and find nothing there."""
    found = sorted(set(str(folder)) & set(PATTERN))
    expect(
        not found,
        f"the path of the exported models must not have any of {' '.join(PATTERN)} in it",
        hint="TensorFlow takes them for a pattern: choose another --to.",
        to=str(folder),
    )


def versions(model_dir):
    """The version numbers in a model's folder, in ascending order."""
    model_dir = Path(model_dir)
    if not model_dir.is_dir():
        return []
    numbers = (p.name for p in model_dir.iterdir() if p.is_dir() and _is_version(p.name))
    return sorted(int(number) for number in numbers)


def _is_version(name):
    return name.isascii() and name.isdecimal() and name == str(int(name))


@dataclass(frozen=True)
class Version:
    """One version of an exported model.

    Attributes:
      model_dir: the model's folder.
      number: the version.
    """

    model_dir: Path
    number: int

    @classmethod
    def open(cls, path):
        """The version at `path`, a version's folder, or a model's for its latest version."""
        path = Path(path)
        found = versions(path)
        if found:
            version = cls(path, found[-1])
        else:
            version = cls(path.parent, int(path.name) if _is_version(path.name) else 0)
        expect(
            (version.path / "saved_model.pb").is_file(),
            f"{path} must be an exported model, such as saved_models/digits, or a version of it, "
            "such as saved_models/digits/1",
            hint="Make one with `tfssl export`.",
        )
        return version

    @property
    def path(self):
        """What a server loads."""
        return self.model_dir / str(self.number)

    @property
    def card(self):
        """The folder of what is known about it."""
        return self.model_dir / "cards" / str(self.number)

    @property
    def tflite(self):
        """The folder of the files for devices."""
        return self.model_dir / "tflite" / str(self.number)


@dataclass(frozen=True)
class Stage:
    """A version in the making.

    Attributes:
      saved_model: the folder to write the SavedModel to.
      card: the folder to write about it to.
      tflite: the folder to write files for devices to, if there are to be any; not made yet.
      version: what it becomes.
    """

    saved_model: Path
    card: Path
    tflite: Path
    version: Version


@contextlib.contextmanager
def new_version(model_dir):
    """A `Stage` for the next version of a model, published when the block ends without an error.

    Two exports of one model at a time would choose the same number: the second is refused.
    """
    model_dir = Path(model_dir)
    made = _make_folders(model_dir)
    try:
        with locked(model_dir / LOCK, f"the model {model_dir}"), _staged(model_dir) as stage:
            yield stage
    except OSError as error:
        raise InputError(f"cannot write {model_dir}: {error.strerror or error}.") from None
    finally:
        for folder in (model_dir / "cards", model_dir / "tflite", *reversed(made)):
            with contextlib.suppress(OSError):  # not there, or not empty
                folder.rmdir()


@contextlib.contextmanager
def _staged(model_dir):
    for abandoned in model_dir.glob(f"{STAGE}*"):  # by an export that was killed
        shutil.rmtree(abandoned, ignore_errors=True)
    stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=model_dir))
    version = Version(model_dir, (versions(model_dir) or [0])[-1] + 1)
    saved_model, card, tflite = (stage / name for name in ("saved_model", "card", "tflite"))
    try:
        card.mkdir(parents=True)
        yield Stage(saved_model, card, tflite, version)
        expect(not version.path.exists(), f"another export has written {version.path} meanwhile")
        _publish(saved_model, {card: version.card, tflite: version.tflite}, version)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _publish(saved_model, beside, version):
    """Move the SavedModel to its place, after what belongs to it: a server sees it last."""
    try:
        for source, target in beside.items():
            shutil.rmtree(target, ignore_errors=True)  # of a version that is no more
            if source.exists():
                target.parent.mkdir(exist_ok=True)
                source.rename(target)
        saved_model.rename(version.path)
    except BaseException:
        for target in beside.values():
            shutil.rmtree(target, ignore_errors=True)
        raise


def _make_folders(path):
    """Create `path` and its parents; returns those that did not exist, the outermost first."""
    missing = [p for p in (path, *path.parents) if not p.exists()][::-1]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        for folder in reversed(missing):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise InputError(f"cannot create {path}: {error.strerror}.") from None
    return missing
