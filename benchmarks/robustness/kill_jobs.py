"""What `benchmarks.robustness.kills` kills: commands, how they go on, and what they must have left.

A job's `arguments(name)` run it in its folder called `name`, from the start or from where it was
killed; `outcome(name)` is what must be the same after any number of kills.
"""

import hashlib
import io
import os
import zipfile

import numpy as np

from tfssl.storage.archives import read_arrays
from tfssl.storage.files import read_json

NETWORKS = [
    "--set=m2.hidden_units=[16]",
    "--set=m2.latent_dim=4",
    "--set=m2.supervised_steps=10",
]
# One network, quick to start: most of the time goes into epochs and checkpoints.
TRAINING = [
    "--set=model=m1",
    "--set=m1.classifier=knn",
    "--set=m1.hidden_units=[16]",
    "--set=m1.latent_dim=4",
    "--set=m1.epochs=40",
    "--set=likelihood=gaussian",
    "--set=data.num_labelled=12",
    "--set=data.num_test=50",
    "--set=checkpoint_seconds=0",
]
CONFIG = """model = "{model}"
likelihood = "bernoulli"
checkpoint_seconds = 0
data = {{ name = "mnist", num_labelled = 100, num_validation = 50 }}
m2 = {{ epochs = 60, batch_size = 100, latent_dim = 4, hidden_units = [16], supervised_steps = 10 }}
"""


class Training:
    """`tfssl train`, and `--resume` after a kill."""

    def __init__(self, home):
        self.home = home

    def prepare(self, _):
        label = np.arange(400) % 3
        x = np.random.default_rng(0).normal(size=(400, 5)) + label[:, None]
        np.savez(self.home / "own.npz", x=x, y=label)

    def folder(self, name):
        return self.home / name

    def arguments(self, name):
        resume = ["--resume"] if self.folder(name).exists() else []
        data = f'--set=data.name="{self.home / "own.npz"}"'
        return ["train", "--run-dir", self.folder(name), data, *TRAINING, *resume]

    def outcome(self, name):
        """What must be the same after any kills."""
        folder = self.folder(name)
        return {
            "weights": weights_digest(folder / "model.keras"),
            "history": read_json(folder / "history.json"),
            "metrics": read_json(folder / "metrics.json"),
            "files": visible_files(folder),
        }


class Export:
    """`tfssl export` of one run; the same command again after a kill."""

    def __init__(self, home):
        self.home, self.run = home, home / "exported_run"

    def prepare(self, run):
        arguments = [*NETWORKS, "--set=model=m2", "--set=m2.epochs=3"]
        assert run(["train", "--run-dir", self.run, *arguments], self.home / "log") == 0

    def folder(self, name):
        return self.home / name

    def arguments(self, name):
        return ["export", self.run, "--to", self.folder(name), "--name", "model"]

    def outcome(self, name):
        """A killed export publishes nothing or a whole version, so that versions may differ."""
        model = self.folder(name) / "model"
        versions = sorted(int(p.name) for p in model.iterdir() if p.name.isdecimal())
        for version in versions:
            card = read_json(model / "cards" / str(version) / "card.json")
            for file, digest in card["files"].items():
                content = (model / str(version) / file).read_bytes()
                assert hashlib.sha256(content).hexdigest() == digest, (version, file)
        newest = model / "cards" / str(versions[-1])
        reference = read_arrays(newest / "reference.npz")
        return {
            "reference": {name: digest_of(array) for name, array in sorted(reference.items())},
            "files": sorted(read_json(newest / "card.json")["files"]),
            "whole_versions": versions == list(range(1, len(versions) + 1)),
            "left_over": sorted(p.name for p in model.iterdir() if p.name.startswith(".")),
        }


class Reproduce:
    """`tfssl reproduce table1` on generated images of MNIST's shape; again after a kill."""

    def __init__(self, home):
        self.home = home

    def prepare(self, _):
        rng = np.random.default_rng(0)
        prototypes, noise = rng.integers(0, 256, (10, 28, 28)), rng.integers(0, 100, (900, 28, 28))
        label = np.arange(900) % 10
        x = np.clip(prototypes[label] + noise, 0, 255).astype(np.uint8)
        data = {"x_train": x[:600], "y_train": label[:600], "x_test": x[600:]}
        np.savez(self.home / "mnist.npz", **data, y_test=label[600:])
        for model in ("m1m2", "m2"):  # the former has the settings of 1-NN too
            (self.home / f"mnist_{model}.toml").write_text(CONFIG.format(model=model))
        os.environ["TFSSL_DATA_DIR"] = str(self.home)

    def folder(self, name):
        return self.home / name

    def arguments(self, name):
        chosen = ["--labels", 100, "--models", "knn,m2", "--splits", 1, "--budget", "quick"]
        places = ["--dir", self.folder(name), "--configs", self.home]
        return ["reproduce", "table1", *chosen, *places]

    def outcome(self, name):
        folder = self.folder(name)
        results = {p.name: read_json(p) for p in sorted((folder / "results").glob("*.json"))}
        for result in results.values():
            del result["seconds"]  # the time it took; all else must be the same
            result.pop("training_seconds", None)
        models = sorted(folder.glob("runs/*/model.keras"))
        return {
            "results": results,
            "weights": {str(p.relative_to(folder)): weights_digest(p) for p in models},
            "files": visible_files(folder),
        }


def weights_digest(path):
    """Of every weight in a .keras file, in order; Keras' file itself holds the date."""
    import h5py

    digest = hashlib.sha256()

    def add(name, item):
        if isinstance(item, h5py.Dataset):
            digest.update(name.encode() + item[()].tobytes())

    with zipfile.ZipFile(path) as archive:
        content = io.BytesIO(archive.read("model.weights.h5"))
    with h5py.File(content) as file:
        file.visititems(add)
    return digest.hexdigest()


def digest_of(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def visible_files(folder):
    """Names of all files but TensorBoard's, which hold the time, and locks, which may stay."""
    names = (str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return sorted(n for n in names if "tensorboard/" not in n and not n.endswith(".lock"))
