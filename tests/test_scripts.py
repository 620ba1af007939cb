"""The scripts of pipelines/, on a tiny run: they say and write what the commands do."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parent.parent / "pipelines"
SETTINGS = """
model = "m2"
[m2]
epochs = 1
latent_dim = 2
hidden_units = [10]
supervised_steps = 2
"""


@pytest.fixture
def script(monkeypatch, capsys):
    """A function that runs a script in this process: what it prints."""

    def script(name, *arguments):
        path = SCRIPTS / f"{name}.py"
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        capsys.readouterr()
        runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    return script


def test_a_run_from_training_to_its_export(script, tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    Path("settings.toml").write_text(SETTINGS)
    assert "'error'" in script("train", "settings.toml", "run")
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert json.loads(script("evaluate", "run"))["test"] == metrics["test"]
    assert json.loads(script("likelihood", "run", 2))["samples"] == 2
    assert "figures/analogies.png" in script("figures", "run", "figures")
    assert Path("figures/style_grid_9.png").is_file()
    np.savez("new.npz", x=rng.integers(0, 17, size=(3, 8, 8)))
    script("predict", "run", "new.npz", "new.csv")
    assert len(Path("new.csv").read_text().splitlines()) == 4
    assert "saved_models/digits/1 off by at most" in script("export", "run", "digits")


def test_the_papers_jobs(script, tmp_path, monkeypatch):
    from tfssl.paper import tables

    monkeypatch.chdir(tmp_path)
    Path("configs").mkdir()
    # The digits, whatever the names say: the real sets are no part of the repository.
    for name in ("digits_m1m2", "mnist_m2_all", "svhn_m2_all"):
        Path(f"configs/{name}.toml").write_text(SETTINGS)
    table = tables.PaperTable("Table 0", "digits", (20,), {"knn": (1.25,)})
    monkeypatch.setitem(tables.TABLES, "table1", table)
    assert "1.25" in script("reproduce", "table1", "done")
    assert Path("done/results/digits_knn_20_split2_full.json").is_file()
    assert '"bayes"' in script("reproduce", "supervised", "done")
    assert Path("done/results/mnist_m2_all_full.json").is_file()
    assert "done/figures/1c/analogies.png" in script("reproduce", "figure1", "done")
