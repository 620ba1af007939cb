"""Tiny trained runs on the digits, shared by the tests of this folder."""

import pytest

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


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A function: settings such as "model=m2" -> the folder of a finished run, trained once."""
    from tfssl.settings import load_settings
    from tfssl.training.run import train

    folders = {}

    def run_of(*settings):
        if settings not in folders:
            folder = tmp_path_factory.mktemp("runs") / "run"
            train(load_settings(None, [*SMALL, *settings]), folder)
            folders[settings] = folder
        return folders[settings]

    return run_of


@pytest.fixture(scope="session")
def trained(run_folder):
    """A function: settings -> a `TrainedRun`."""
    from tfssl.runs.trained import TrainedRun

    return lambda *settings: TrainedRun(run_folder(*settings))


@pytest.fixture(scope="session")
def digits():
    """Images as they are stored, [30, 8, 8] uint8."""
    from tfssl.data.loading import load_source

    return load_source("digits").x[:30]


@pytest.fixture(scope="session")
def exported(run_folder, tmp_path_factory):
    """A function: settings -> the first `Version` of an exported run."""
    from tfssl.export.saved_model import export

    versions = {}

    def make(*settings):
        if settings not in versions:
            folder = tmp_path_factory.mktemp("exported")
            versions[settings], _ = export(run_folder(*settings), folder, "tiny")
        return versions[settings]

    return make
