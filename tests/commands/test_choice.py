"""The default for the user's own data, model = "auto", through every command."""

import csv
import json

import numpy as np
import pytest

from tfssl.settings import load_settings

# About half a second a candidate at most.
QUICK = ["--set", "auto.budget=8"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table of three classes, -1 where there is no label, and new rows of it."""
    place, rng = tmp_path_factory.mktemp("choice"), np.random.default_rng(0)

    def lines(count, labelled):
        for i in range(count):
            k = i % 3
            name = "abc"[k] if i < labelled else ["", "-1"][i % 2]
            colour = ["red", "green", "blue"][k] if rng.random() < 0.8 else ""
            yield f"{3 * k + rng.normal():.3f},{rng.normal():.3f},{colour},{name}"

    header = "width,height,colour,kind"
    (place / "table.csv").write_text("\n".join([header, *lines(240, 75)]) + "\n")
    (place / "new.csv").write_text("\n".join([header, *lines(30, 0)]) + "\n")
    return place


@pytest.fixture(scope="module")
def trained(place, call):
    """(run folder, what training printed)."""
    options = ["--label", "kind", "--run-dir", place / "run", *QUICK]
    code, output, error = call("train", "--data", place / "table.csv", *options)
    assert code == 0, error
    return place / "run", output


def test_train_shows_the_evidence_and_the_answer(trained):
    run, output = trained
    choice = json.loads((run / "choice.json").read_text())
    assert 'model = "auto"' in output
    assert "m2." not in output
    for row in choice["rows"]:
        assert row["name"] in output
    assert "% error, log-loss" in output  # a line a candidate, as it is judged
    assert choice["sentence"] in output
    assert "the answer on held-out labels" in output
    assert "test error" in output
    assert "calibrated: by held-out labels" in output
    assert json.loads((run / "metrics.json").read_text())["test"]["error"] < 0.2


def test_inspect_says_what_would_be_compared(place, trained, call):
    options = ["--label", "kind", *QUICK]
    code, output, error = call("inspect", place / "table.csv", *options)
    assert code == 0, error
    assert "points: 75 labelled, 165 unlabelled, 0 test" in output
    choice = json.loads((trained[0] / "choice.json").read_text())
    for row in choice["rows"]:
        listed = f"  {row['name']}   (about" in output
        assert listed != (f"  not {row['name']}   (the budget" in output)
        assert listed == (row["error"] is not None)


def test_init_writes_settings_that_train_chooses(place, trained, call):
    path = place / "table.toml"
    options = ["--label", "kind", "--output", path, *QUICK]
    code, _, error = call("init", place / "table.csv", *options)
    assert code == 0, error
    assert "[auto]\nbudget = 8" in path.read_text()
    assert load_settings(path) == load_settings(trained[0] / "settings.json")


def test_evaluate_finds_the_table_again(trained, call):
    code, output, error = call("evaluate", trained[0])
    assert code == 0, error
    stored = json.loads((trained[0] / "metrics.json").read_text())["test"]["error"]
    assert f"test error: {100 * stored:.2f}%" in output


def test_predict_gives_calibrated_probabilities(place, trained, call):
    options = ["--output", place / "p.csv"]
    code, output, error = call("predict", trained[0], place / "new.csv", *options)
    assert code == 0, error
    assert "no column log_likelihood: it needs a generative model" in output
    with open(place / "p.csv", newline="") as file:
        header, *rows = csv.reader(file)
    numbers = ["id", "label", "confidence", "entropy"]
    assert header == [*numbers, *(f"calibrated p({k})" for k in "abc")]
    assert np.mean([row[1] == "abc"[i % 3] for i, row in enumerate(rows)]) > 0.8
    options = ["--output", place / "q.csv", "--raw"]
    code, _, error = call("predict", trained[0], place / "new.csv", *options)
    assert (code, "--raw needs a classifier with probabilities of its own" in error) == (2, True)


def test_the_report_shows_the_table_and_a_picture(trained, call):
    code, _, error = call("report", trained[0])
    assert code == 0, error
    text = (trained[0] / "report.html").read_text()
    choice = json.loads((trained[0] / "choice.json").read_text())
    assert choice["sentence"].replace("'", "&#39;") in text
    assert 'id="choice"' in text or "What was compared" in text
    for row in choice["rows"]:
        assert row["name"] in text
    assert "error of each candidate on held-out labels" in text
    assert "calibrated by the" in text
    assert "auto.with_generative=true" in text
    assert "not calibrated" not in text.lower()


def test_suggest_needs_no_density(place, trained, call):
    code, _, error = call("suggest", trained[0], "-n", 4, "--to", place)
    assert code == 0, error
    with open(place / "suggestions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["row"] for row in rows}) == 4
    assert all(int(row["row"]) >= 75 for row in rows)


def test_calibrate_has_nothing_to_do(trained, call):
    code, output, _ = call("calibrate", trained[0])
    assert (code, "nothing to do" in output) == (0, True)
    assert not (trained[0] / "calibration.json").exists()


def test_what_needs_a_generative_model_says_how_to_get_one(trained, call):
    code, _, error = call("likelihood", trained[0])
    assert code == 2
    assert "a log-likelihood needs a generative model" in error
    assert "--set auto.with_generative=true" in error
    code, output, _ = call("figures", trained[0])
    assert code == 0
    assert "skipped latent_map: it needs a generative model" in output


def test_compare_takes_it_like_any_other(place, trained, call):
    values = ["model=m2", "m2.epochs=2", "m2.supervised_steps=5"]
    options = [f"--set={value}" for value in values]
    options += ["--label", "kind", "--run-dir", place / "m2"]
    code, _, error = call("train", "--data", place / "table.csv", *options)
    assert code == 0, error
    # The same test points: with validation points, which M2 has here none of, they would differ.
    code, output, error = call("compare", trained[0], place / "m2")
    assert code == 0, error
    assert "chosen" in output
    assert "p = " in output


def test_a_class_with_a_single_label_is_told(tmp_path, call):
    rows = [f"{i % 2}.{i},{'a' if i == 0 else 'b' if i % 2 and i < 20 else ''}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    options = ["--run-dir", tmp_path / "run", *QUICK]
    code, output, error = call("train", "--data", tmp_path / "t.csv", *options)
    assert code == 0, error
    assert "a single label, so nothing could be compared" in output.replace("\n", " ")
    code, output, _ = call("inspect", tmp_path / "t.csv")
    assert "a few classifiers untried: a class has one label only" in output
    code, _, error = call("report", tmp_path / "run")
    assert code == 0, error
    code, _, error = call("export", tmp_path / "run", "--to", tmp_path / "models", "--name", "t")
    assert code == 0, error


def test_every_point_may_have_a_label(tmp_path, call):
    rows = [f"{3 * (i % 2)}.{i},{'ab'[i % 2]}" for i in range(36)]
    (tmp_path / "t.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    options = ["--run-dir", tmp_path / "run", *QUICK]
    code, _, error = call("train", "--data", tmp_path / "t.csv", *options)
    assert code == 0, error
    code, _, error = call("suggest", tmp_path / "run")
    assert (code, "must have unlabelled points" in error) == (2, True)
