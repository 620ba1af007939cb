"""The run folder: what a training run leaves behind, and how to read it back.

  run.json            format, status, versions, seed, seconds by stage, git revision
  settings.json       the resolved settings
  split.npz           row numbers of the labelled, unlabelled, validation and test points
  preprocessing.npz   shift, scale and whitening of the inputs
  model.keras         the trained model (m1, m2 or the stack)
  classifier.skops    the classifier on M1's features (model = "m1")
  history.json        every epoch's losses, by stage
  metrics.json        validation and test error, bounds
  likelihood.json     the latest estimate of log p(x), if there is one
  calibration.json    the temperature of the probabilities, once it is fitted
  report.html         the latest report, if there is one
  m1/, m2/            checkpoints of the stages while they train
  tensorboard/        logs
  figures/            pictures, once `tfssl figures` has drawn them

Every file is written whole or not at all. Nothing that is read back can carry code.
"""

import contextlib
import json
import platform
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np

from tfssl.config import dump_settings, parse_settings
from tfssl.errors import InputError, expect
from tfssl.files import atomic_path, write_json

FORMAT = 1
PACKAGES = ("tfssl", "tensorflow", "keras", "tensorflow-probability", "numpy", "scikit-learn")


@contextlib.contextmanager
def damaged(path):
    """What fails while `path` is read is the file's fault."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def versions():
    """Versions of Python and of the packages that decide a result."""
    return {"python": platform.python_version(), **{p: metadata.version(p) for p in PACKAGES}}


def git_revision():
    """The revision of the working directory's checkout, or None."""
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


class RunFolder:
    """Paths of a run and what they hold."""

    def __init__(self, path):
        self.path = Path(path)

    def __truediv__(self, name):
        return self.path / name

    def check_new(self):
        """Fail if the folder exists: a run never writes over another."""
        expect(
            not self.path.exists(),
            f"the run folder {self.path} must not exist yet",
            hint="Choose another --run-dir, or continue it with --resume.",
        )

    @classmethod
    def create(cls, path, settings):
        """A new folder with its settings."""
        folder = cls(path)
        folder.check_new()
        try:
            folder.path.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot create {folder.path}: {error.strerror}.") from None
        write_json(folder / "settings.json", dump_settings(settings))
        folder.write_status("running", settings.seed)
        return folder

    @classmethod
    def open(cls, path):
        """An existing run of this format."""
        folder = cls(path)
        expect(
            (folder / "run.json").is_file(),
            f"{folder.path} must be a run folder (it has no run.json)",
            hint="Train one with `tfssl train`.",
        )
        found = folder.read_json("run.json").get("format")
        expect(
            found == FORMAT,
            f"{folder.path} must be a run of format {FORMAT}",
            hint="It was written by another version of tfssl: use that one, or train again.",
            format=found,
        )
        return folder

    def check_settings(self, settings):
        """Fail unless the run has these settings: only then can it be resumed."""
        expect(
            self.settings() == settings,
            f"the settings must equal those of {self.path} to resume it",
            hint="Resume without changing settings, or start a new run.",
        )

    def check_finished(self):
        """Fail unless the run is finished."""
        status = self.read_json("run.json").get("status")
        expect(
            status == "finished",
            f"the run {self.path} must be finished",
            hint="Continue it with `tfssl train --resume`.",
            status=status,
        )

    def write_status(self, status, seed, seconds=None):
        record = {"format": FORMAT, "status": status, "seed": seed, "seconds": seconds or {}}
        record |= {"versions": versions(), "git_revision": git_revision()}
        write_json(self / "run.json", record)

    def read_json(self, name):
        try:
            value = json.loads((self / name).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {self / name}: {error.strerror}.") from None
        except ValueError as error:
            raise InputError(f"{self / name} is damaged: {error}.") from None
        expect(isinstance(value, dict), f"{self / name} must hold a JSON object")
        return value

    def settings(self):
        return parse_settings(self.read_json("settings.json"), where=self / "settings.json")

    def save_arrays(self, name, **arrays):
        with atomic_path(self / name) as temporary:
            np.savez_compressed(temporary, **arrays)

    def has_split(self, rows):
        """Whether the run's points have these row numbers, {part: [N]}."""
        path = self / "split.npz"
        with damaged(path), np.load(path, allow_pickle=False) as saved:
            return all(np.array_equal(saved[part], numbers) for part, numbers in rows.items())

    def preprocessing(self):
        """The saved `Preprocessing`, None if the run ended before there was one."""
        from tfssl.data.preprocessing import Preprocessing

        if not (self / "preprocessing.npz").exists():
            return None
        path = self / "preprocessing.npz"
        with damaged(path), np.load(path, allow_pickle=False) as arrays:
            return Preprocessing.from_arrays(arrays)

    def save_model(self, name, model):
        with atomic_path(self / name) as temporary:
            model.save(temporary)

    def load_model(self, name):
        import keras

        import tfssl.models  # noqa: F401  registers the classes

        path = self / name
        expect(
            path.is_file(),
            f"{self.path} must hold a trained model",
            hint="The run did not finish: continue it with `tfssl train --resume`.",
        )
        try:
            return keras.saving.load_model(path, compile=False, safe_mode=True)
        except (ValueError, OSError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}.") from None


class TrainedRun:
    """A finished run, ready to predict.

    Attributes:
      folder: the `RunFolder`.
      settings: its `Settings`.
      preprocessing: stored inputs -> what the model sees.
      model: M1, M2 or StackedM1M2.
      classifier: the fitted scikit-learn classifier of model = "m1", else None.
      class_names: one per class.
    """

    def __init__(self, path):
        self.folder = RunFolder.open(path)
        self.settings = self.folder.settings()
        self.model = self.folder.load_model("model.keras")
        self.preprocessing = self.folder.preprocessing()
        path = self.folder / "preprocessing.npz"
        with damaged(path), np.load(path, allow_pickle=False) as arrays:
            self.class_names = tuple(str(name) for name in arrays["class_names"])
        self.classifier = None
        if self.settings.model == "m1":
            self.classifier = load_classifier(self.folder / "classifier.skops")

    def probabilities(self, x, batch_size=1000):
        """q(y|x) for stored inputs x [N, ...]: [N, K]."""
        from tfssl.evaluation import class_probabilities

        self.preprocessing.check(x, "the input")
        return class_probabilities(self.model, self.classifier, self.preprocessing, x, batch_size)


def save_classifier(path, classifier):
    import skops.io

    with atomic_path(path) as temporary:
        skops.io.dump(classifier, temporary)


def load_classifier(path):
    import skops.io

    with damaged(path):
        return skops.io.load(path, trusted=["tfssl.classifiers.tsvm.TransductiveSVM"])
