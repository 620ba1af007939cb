"""Shared fixtures. What TensorFlow reads when it is imported is set before anything does."""

import fcntl
import gc
import hashlib
import json
import os
import shutil
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "sched_setaffinity"):
    # A core for each worker and what it starts. Sharing them all, TensorFlow's threads of one wait
    # for those of the other, and the small networks of the tests take twice as long.
    _cores = sorted(os.sched_getaffinity(0))
    _worker = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    os.sched_setaffinity(0, {_cores[_worker % len(_cores)]})

import numpy as np
import pytest

import tfssl  # noqa: F401  # turns oneDNN on

gc.disable()  # until all is imported, see `pytest_collection_finish`

# Of runs on the digits whose learning does not matter: they take seconds to train.
SMALL = (
    "m1.epochs=3",
    "m2.epochs=3",
    "m1.hidden_units=[20]",
    "m2.hidden_units=[20]",
    "m1.latent_dim=6",
    "m2.latent_dim=3",
    "m2.supervised_steps=20",
    "m2.active_threshold=0.01",
)


pytest_plugins = ["pytester"]
COLLECTED = pytest.StashKey[float]()


def pytest_addoption(parser):
    text = "skip the tests that have not begun so many seconds after all were found"
    parser.addoption("--within", type=float, metavar="SECONDS", help=text)


def pytest_collection_finish(session):
    """What was imported stays: nobody need look through it for garbage."""
    session.config.stash[COLLECTED] = time.monotonic()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    within = item.config.getoption("--within")
    if within is not None and time.monotonic() > item.config.stash[COLLECTED] + within:
        pytest.skip(f"not begun within {within:g} s")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def call():
    """A function that runs the command in this process: (exit code, output, error)."""
    from typer.testing import CliRunner

    from tfssl import cli
    from tfssl.errors import InputError

    def call(*arguments):
        result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
        if isinstance(result.exception, InputError):
            return 2, result.output, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output, result.stderr

    return call


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """A function: (what, make) -> the folder that make(folder) fills, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(what, make):
        digest = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]
        folder = shared / "made" / digest
        folder.parent.mkdir(exist_ok=True)
        with open(folder.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                temporary = folder.with_suffix(".new")
                shutil.rmtree(temporary, ignore_errors=True)
                temporary.mkdir()
                make(temporary)
                temporary.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def run_folder(made_once):
    """A function: settings such as "model=m2" -> a finished run on the digits, not to be changed.

    It is trained once, however many tests and workers ask for it.
    """

    def folder_of(*settings):
        def train_into(folder):
            from tfssl.settings import load_settings
            from tfssl.training.run import train

            train(load_settings(None, [*SMALL, *settings]), folder / "run")

        return made_once(["run", *settings], train_into) / "run"

    return folder_of


@pytest.fixture(scope="session")
def run_copy(run_folder, tmp_path_factory):
    """A function: settings -> a copy of the run, to be changed at will."""

    def copy_of(*settings):
        folder = tmp_path_factory.mktemp("runs") / "run"
        shutil.copytree(run_folder(*settings), folder)
        return folder

    return copy_of


@pytest.fixture(scope="session")
def trained(run_folder):
    """A function: settings -> a `TrainedRun`, read once for each worker."""
    from tfssl.runs.trained import TrainedRun

    runs = {}

    def run_of(*settings):
        if settings not in runs:
            runs[settings] = TrainedRun(run_folder(*settings))
        return runs[settings]

    return run_of


@pytest.fixture(scope="session")
def exported(run_folder, made_once):
    """A function: settings -> the first `Version` of an exported run, not to be changed."""

    def version_of(*settings):
        from tfssl.export.saved_model import export
        from tfssl.export.versions import Version

        run = run_folder(*settings)
        made = made_once(["export", *settings], lambda folder: export(run, folder, "tiny"))
        return Version.open(made / "tiny")

    return version_of


@pytest.fixture(scope="session")
def digits():
    """Images as they are stored, [30, 8, 8] uint8."""
    from tfssl.data.loading import load_source

    return load_source("digits").x[:30]


@pytest.fixture(scope="session")
def pixels():
    """Intensities of the digits, [1797, 64], and labels."""
    from sklearn.datasets import load_digits

    x, label = load_digits(return_X_y=True)
    return (x / 16.0).astype(np.float32), label


@pytest.fixture(scope="session")
def blend(pixels):
    """A `Blend` for digits with every kind of member, weights, temperatures and shares unequal.

    Every shallow candidate, an M2, and a TSVM on latents of an M1; the networks are as they begin.
    """
    from tfssl.blends.blend import Blend, Member
    from tfssl.choice.candidates import SHALLOW
    from tfssl.choice.pool import Pool
    from tfssl.models import M1, M2

    (x, label), few, most = pixels, 90, 400
    pool = Pool(x[:few], label[:few], x[few:most], num_classes=10, levels=16)
    parts = [(c.name, c.view, c.fit(pool, np.arange(few))) for c in SHALLOW]
    parts.append(("M2", "plain", M2(64, 10, few, most, 2, (8,), "bernoulli", seed=1)))
    views = pool.views.with_m1(M1(64, 4, (8,), "bernoulli", seed=2), np.array([0, 2, 3]))
    tsvm = next(c for c in SHALLOW if c.name == "TSVM").make(0)
    y = np.where(np.arange(most) < few, label[:most], -1)
    parts.append(("M1+TSVM", "latents", tsvm.fit(views("latents", x[:most]), y)))
    weights = np.arange(1.0, len(parts) + 1) / sum(range(1, len(parts) + 1))
    temperatures = np.linspace(0.5, 2.0, len(parts))
    members = tuple(
        Member(*part, temperature=float(t), weight=float(w))
        for part, t, w in zip(parts, temperatures, weights, strict=True)
    )
    shares = np.arange(1.0, 11.0) / 55.0
    return Blend(members, views, 0.8, shares, np.full(10, 0.1))


@pytest.fixture
def grid_tile():
    """A function that cuts a tile out of a grid that `tfssl.pictures.drawing` drew."""
    from tfssl.pictures import drawing

    def cut(picture, shape, row, column):
        """The tile's pixels; `shape` is [rows, columns, height, width] of the grid's tiles."""
        rows, columns, height, width = shape
        pixels = np.asarray(picture)
        bottom, right = (edge - drawing.MARGIN + drawing.GAP for edge in pixels.shape[:2])
        top = bottom - (rows - row) * (height + drawing.GAP)
        left = right - (columns - column) * (width + drawing.GAP)
        return pixels[top : top + height, left : left + width]

    return cut
