"""The run folder: what a training run leaves behind, and how to read it back.

  run.json            format, status, versions, seed, seconds by stage, git revision, M1's digest
  settings.json       the resolved settings
  split.npz           row numbers of the labelled, unlabelled, validation and test points, and
                      digests of their inputs and labels
  preprocessing.npz   shift, scale and components of the inputs
  schema.json         how files became inputs, if they were not arrays
  examples.npz        a few training inputs as they are stored, to check an export on
  model.keras         the trained model (m1, m2 or the stack)
  classifier.skops    the classifier on M1's features (model = "m1")
  blend/              the answer of model = "auto", see `tfssl.blends.files`; model.keras is then
                      the M2 beside it, if there is one
  choice.json         what it rests on: a row for each candidate, in words, shares of the classes
  evidence/           out-of-fold probabilities of each candidate, to resume from
  history.json        every epoch's losses, by stage
  metrics.json        validation and test error, bounds
  likelihood.json     the latest estimate of log p(x), if there is one
  calibration.json    the temperature of the probabilities, if one was fitted
  report.html         the latest report, if there is one
  m1/, m2/            checkpoints of the stages while they train
  tensorboard/        logs
  figures/            pictures, once `tfssl figures` has drawn them

Every file is written whole or not at all. Nothing that is read back can carry code.
"""

import contextlib
import glob
import shutil
from pathlib import Path

import numpy as np

from tfssl.classifiers.files import load_network, save_network
from tfssl.data.digests import digests
from tfssl.errors import InputError, expect
from tfssl.runs.provenance import git_revision, m1_digest, versions
from tfssl.settings import differences, dump_settings, parse_settings, with_changes
from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import (
    TEMPORARY,
    atomic_path,
    read_json,
    remove_temporaries,
    temporary_path,
    write_json,
)
from tfssl.storage.locks import locked

FORMAT = 1
LOCK = ".lock"
DIGEST = "_digest"


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
    def create(cls, path, settings, m1=None):
        """A new folder with its settings, and the digest of an `m1` that is not to be trained."""
        folder = cls(path)
        folder.check_new()
        # It appears with its first two files in it, or a killed process could leave a folder that
        # is no run and yet in the way of one.
        made = cls(temporary_path(folder.path))
        for abandoned in folder.path.parent.glob(f"{TEMPORARY}*-{glob.escape(folder.path.name)}"):
            shutil.rmtree(abandoned, ignore_errors=True)
        try:
            made.path.mkdir(parents=True)
            write_json(made / "settings.json", dump_settings(settings))
            made.write_status("running", settings.seed, m1=m1)
            made.path.rename(folder.path)
        except OSError as error:
            raise InputError(f"cannot create {folder.path}: {error.strerror}.") from None
        finally:
            shutil.rmtree(made.path, ignore_errors=True)
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

    @contextlib.contextmanager
    def working(self):
        """Hold the run for this process alone, and sweep out what a killed one left."""
        with locked(self / LOCK, f"the run {self.path}"):
            remove_temporaries(self.path)
            yield

    def check_settings(self, settings):
        """Fail unless the run has these settings: only then can it be resumed."""
        own = self.settings()
        if own.m1.run is not None and settings.m1.run is not None:
            # Where its M1 lies may change; `check_m1` tells whether it is the same.
            settings = with_changes(settings, m1={"run": own.m1.run})
        differ = differences(dump_settings(own), dump_settings(settings))
        expect(
            not differ,
            f"the settings must equal those of {self.path} to resume it",
            hint="Resume without changing settings, or start a new run.",
            run=differ,
        )

    def check_m1(self, m1):
        """Fail unless a run that takes its M1 from another one began with this M1."""
        began_with = self.read_json("run.json").get("m1_digest")
        expect(
            began_with in (None, m1_digest(m1)),
            f"the M1 of m1.run must be the one that {self.path} began with",
            hint="It was trained again since: start a new run.",
        )

    def save_split(self, split):
        """Keep which points the parts of a `Split` have, and what tells them from others."""
        found = {f"{part}{DIGEST}": text for part, text in digests(split).items()}
        self.save_arrays("split.npz", **split.rows, **found)

    def check_split(self, split):
        """Fail unless a `Split` has the points that the run was trained on.

        Runs of older versions have no digests: their row numbers alone are compared.
        """
        own, now = read_arrays(self / "split.npz"), digests(split)
        changed = [
            part
            for part, rows in split.rows.items()
            if not np.array_equal(own.get(part), rows)
            or str(own.get(f"{part}{DIGEST}", now[part])) != now[part]
        ]
        expect(
            not changed,
            f"the data must be those that {self.path} was trained on",
            hint="The points of these parts, their order or their labels are others now than its "
            "split.npz says: restore the data, or train again.",
            changed=changed,
        )

    def check_finished(self):
        """Fail unless the run is finished."""
        expect(
            self.is_finished,
            f"the run {self.path} must be finished",
            hint="Continue it with `tfssl train --resume`.",
            status=self.read_json("run.json").get("status"),
        )

    @property
    def is_finished(self):
        return self.read_json("run.json").get("status") == "finished"

    def write_status(self, status, seed, seconds=None, m1=None):
        record = {"format": FORMAT, "status": status, "seed": seed, "seconds": seconds or {}}
        record |= {"versions": versions(), "git_revision": git_revision()}
        record["m1_digest"] = None if m1 is None else m1_digest(m1)
        write_json(self / "run.json", record)

    def read_json(self, name):
        return read_json(self / name)

    def settings(self):
        return parse_settings(self.read_json("settings.json"), where=self / "settings.json")

    def save_arrays(self, name, **arrays):
        with atomic_path(self / name) as temporary:
            np.savez_compressed(temporary, **arrays)

    def split_rows(self):
        """Row numbers of the run's points, {part: [N]}."""
        arrays = read_arrays(self / "split.npz")
        return {part: rows for part, rows in arrays.items() if not part.endswith(DIGEST)}

    def preprocessing(self):
        """The saved `Preprocessing`, None if the run ended before there was one."""
        from tfssl.data.preprocessing import Preprocessing

        path = self / "preprocessing.npz"
        if not path.exists():
            return None
        with damaged(path):
            return Preprocessing.from_arrays(read_arrays(path))

    def schema(self):
        """How new files are read like the training data; None if those were arrays."""
        return self.read_json("schema.json") if (self / "schema.json").exists() else None

    def save_model(self, name, model):
        save_network(self / name, model)

    def load_model(self, name):
        expect(
            (self / name).is_file(),
            f"{self.path} must hold a trained model",
            hint="The run did not finish: continue it with `tfssl train --resume`.",
        )
        return load_network(self / name)
