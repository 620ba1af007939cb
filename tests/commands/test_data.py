"""The user's own data from the command line: inspect, init, train, evaluate, predict."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from tfssl.settings import load_settings

M2 = ["--set", "model=m2", "--set", "m2.epochs=60"]
FEW = [
    "--set",
    "model=m1m2",
    "--set",
    "m1.epochs=2",
    "--set",
    "m2.epochs=5",
    "--set",
    "m2.supervised_steps=20",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with own data in it: pictures/ of two classes, and a table of three."""
    place, rng = tmp_path_factory.mktemp("own"), np.random.default_rng(0)
    for part, count in (("{}", 2), ("unlabelled", 30), ("test/{}", 15)):
        for name, rows in (("top", slice(0, 4)), ("bottom", slice(4, 8))):
            folder = place / "pictures" / part.format(name)
            folder.mkdir(parents=True, exist_ok=True)
            for i in range(count):
                image = rng.integers(0, 50, size=(8, 8)).astype(np.uint8)
                image[rows] += 180
                Image.fromarray(image).save(folder / f"{name}{i}.png")
    lines = ["width,colour,kind"]
    for i in range(150):
        k = i % 3
        colour = ["red", "green", "blue"][k] if rng.random() < 0.8 else ""
        lines.append(f"{4 * k + rng.normal():.3f},{colour},{'abc'[k] if i < 75 else ''}")
    (place / "table.csv").write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture(autouse=True)
def _own_cache(place, monkeypatch):
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(place / "cache"))


@pytest.fixture(scope="module")
def table_run(place, call):
    options = ["--label", "kind", "--run-dir", place / "runs" / "table", *M2]
    code, output, error = call("train", "--data", place / "table.csv", *options)
    assert code == 0, error
    return place / "runs" / "table", output


def test_inspect_shows_what_it_sees_and_would_do(place, call):
    options = ["--pictures", place / "sheet.png", "--set", "model=m1m2"]
    code, output, error = call("inspect", place / "pictures", *options)
    assert code == 0, error
    assert "pictures: grey images, shape [8, 8], uint8" in output
    assert "points: 4 labelled, 60 unlabelled, 30 test" in output
    assert "  bottom  2 labelled, 15 test" in output
    assert "would train m1m2 with a bernoulli likelihood" in output
    assert (place / "sheet.png").exists()
    code, _, error = call("inspect", place / "pictures", "--pictures", place / "sheet.png")
    assert (code, "must not exist yet" in error) == (2, True)


def test_train_prints_and_saves_what_it_chose(table_run):
    run, output = table_run
    assert 'm2.class_prior = "learned"   (from the shares that the model finds)' in output
    assert "m2.epochs" not in output  # it was set
    settings = json.loads((run / "settings.json").read_text())
    assert settings["likelihood"] == "columns"
    assert settings["data"]["label"] == "kind"
    assert settings["data"]["num_test"] == 15
    assert settings["m2"]["epochs"] == 60
    assert json.loads((run / "metrics.json").read_text())["test"]["error"] < 0.2


def test_evaluate_finds_the_table_again(table_run, call):
    run, _ = table_run
    stored = json.loads((run / "metrics.json").read_text())["test"]["error"]
    code, output, error = call("evaluate", run)
    assert code == 0, error
    assert f"test error: {100 * stored:.2f}%" in output


def test_resume_of_a_finished_run_is_that_run(place, table_run, call):
    options = ["--label", "kind", "--run-dir", table_run[0], *M2, "--resume"]
    code, _, error = call("train", "--data", place / "table.csv", *options)
    assert code == 0, error


def test_predict_reads_a_new_table_like_the_old_one(place, table_run, call):
    (place / "new.csv").write_text("colour,width\nblue,8\n,0\npurple,\n")
    code, _, error = call("predict", table_run[0], place / "new.csv", "--output", place / "p.csv")
    assert code == 0, error
    with open(place / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows[:2]] == ["c", "a"]
    code, _, error = call("predict", table_run[0], place / "pictures", "--output", place / "q.csv")
    assert (code, "trained on, table" in error) == (2, True)
    assert not (place / "q.csv").exists()


def test_pictures_with_two_labels_a_class(place, call):
    run = place / "runs" / "pictures"
    code, output, error = call("train", "--data", place / "pictures", "--run-dir", run, *FEW)
    assert code == 0, error
    assert "test error" in output
    new = place / "pictures" / "test"
    code, _, error = call("predict", run, new, "--output", place / "pictures.csv")
    assert code == 0, error
    with open(place / "pictures.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["id"] == "bottom/bottom0.png"
    assert len(rows) == 30

    code, _, error = call("suggest", run, "-n", 5, "--to", place)
    assert code == 0, error
    with open(place / "suggestions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    # bottom/ has rows 0 and 1, top/ 2 and 3.
    unlabelled = sorted(path.name for path in (place / "pictures" / "unlabelled").iterdir())
    assert [row["file"] for row in rows] == [
        f"unlabelled/{unlabelled[int(row['row']) - 4]}" for row in rows
    ]
    code, _, error = call("report", run, "--samples", 1, "--output", place / "report.html")
    assert code == 0, error
    assert ", test/top/top" in (place / "report.html").read_text()


def test_init_writes_settings_that_train_chooses(place, table_run, call):
    path = place / "table.toml"
    options = ["--label", "kind", "--output", path, "--set", "model=m2"]
    code, _, error = call("init", place / "table.csv", *options)
    assert code == 0, error
    assert "num_test = 15  # the rarest class has 25 labels" in path.read_text()
    settings = load_settings(path, ["m2.epochs=60"])
    assert settings == load_settings(table_run[0] / "settings.json")
    code, _, error = call("init", place / "table.csv", "--label", "kind", "--output", path)
    assert (code, "must not exist yet" in error) == (2, True)


def test_explicit_settings_win(place):
    path = place / "mine.toml"
    path.write_text('model = "m1m2"\nlikelihood = "bernoulli"\n[m1]\nlatent_dim = 7\n')
    from tfssl.data.recommended import automatic_settings

    pictures = str(place / "pictures")
    settings, _, chosen = automatic_settings(pictures, None, path, ["data.colour=true"])
    assert (settings.likelihood, settings.data.whitening) == ("bernoulli", None)
    assert (settings.m1.latent_dim, settings.data.colour) == (7, True)
    assert settings.m1.hidden_units == (500, 500)
    keys = [key for key, _, _ in chosen]
    assert not {"likelihood", "m1.latent_dim", "data.colour", "data.whitening"} & set(keys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--data", "nowhere"], "exists=False"),
        (["train", "--label", "kind"], "--label needs --data"),
        (["train", "--data", "digits", "--label", "kind"], "without data.label (--label)"),
        (["inspect", "nowhere.csv"], "exists=False"),
        (["init", "digits", "--output", "a.json"], "must end in .toml"),
        (["train", "--data", "digits", "--set", "m2.epoch=1"], "did you mean `m2.epochs`?"),
        (["study", "--baselines", "oracle", "--splits", "1"], "the baseline must be one of knn"),
    ],
)
def test_bad_input_is_explained(arguments, message, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    code, _, error = call(*arguments)
    assert (code, message in error) == (2, True), error
    assert list(tmp_path.iterdir()) == []
