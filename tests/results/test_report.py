"""The report and predictions of real, tiny runs with hostile names."""

import csv
import json
from html.parser import HTMLParser

import numpy as np
import pytest

from tfssl.models import importance
from tfssl.pictures import of_run
from tfssl.pictures.of_run import Subject
from tfssl.results import report
from tfssl.runs.opened import OpenedRun
from tfssl.runs.temperature import FILE, Calibration

SECTIONS = [
    "error",
    "calibration",
    "abstaining",
    "curves",
    "map",
    "analogies",
    "uncertain",
    "unlikely",
    "settings",
]


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.texts.append(data)

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


def check_self_contained(page):
    assert not page.tags & {"script", "link", "iframe", "svg", "object", "i"}
    assert all(source.startswith("data:image/png;base64,") for source in page.values("src"))
    assert all(link.startswith("#") for link in page.values("href"))
    assert not [key for key, _ in page.attributes if key.startswith("on")]
    assert page.values("id") == SECTIONS


@pytest.fixture(scope="module")
def image_page(image_run, tmp_path_factory, call):
    path = tmp_path_factory.mktemp("page") / "report.html"
    code, output, error = call("report", image_run, "--output", path, "--samples", 3)
    assert code == 0, error
    assert "report.html" in output
    return Page(path)


def test_the_page_is_self_contained_and_names_stay_text(image_page, image_run, class_names):
    check_self_contained(image_page)
    for name in (*class_names, image_run.name, "<b>'data'.npz"):
        assert name in image_page.text
    assert "$" not in image_page.text.replace(class_names[2], "")


def test_its_numbers_are_those_of_the_run(image_page, image_run):
    test = json.loads((image_run / "metrics.json").read_text())["test"]
    for key in ("error", "error_low", "error_high"):
        assert f"{100 * test[key]:.1f}%" in image_page.text
    assert f"{test['calibration_error']:.3f} before" in image_page.text
    assert f"{test['log_loss']:.3f}" in image_page.text
    stored = Calibration.load(of_run.TrainedRun(image_run).folder)
    assert (stored.fitted_on, stored.points, stored.folds) == ("labelled", 12, 4)
    assert f"{stored}. No test point was used" in image_page.text
    assert "data.num_labelled 12" in image_page.text
    # Two grids of examples, three diagrams, curves and map; M1 has no analogies.
    assert len(image_page.values("src")) == 24 + 24 + 3 + 2
    assert "M1 does not know classes" in image_page.text


def test_the_least_likely_are_in_order(image_page, image_run):
    subject = OpenedRun.open(image_run)
    x = subject.run.preprocessing(subject.experiment.split.x_test).numpy()
    rows = np.random.default_rng(0).permutation(len(x))
    scores = importance.log_likelihood(subject.run.model, x[rows], 3)
    section = image_page.text.split("lowest log p(x)")[1]
    places = [section.index(f"{score:.1f} nats") for score in np.sort(scores)[:24]]
    assert places == sorted(places)


def test_m2_without_validation_points_says_so_and_shows_analogies(other_run, call):
    code, _, error = call("report", other_run, "--samples", 2, "--points", 5)
    assert code == 0, error
    page = Page(other_run / "report.html")
    check_self_contained(page)
    assert "Not calibrated: there are no validation points" in page.text
    assert any("its style in every class" in text for text in page.values("alt"))
    assert not (other_run / FILE).exists()


def test_features_without_test_points(table_run, tmp_path, call):
    code, _, error = call("calibrate", table_run)
    assert code == 0, error
    code, _, error = call("report", table_run, "--output", tmp_path / "r.html", "--samples", 2)
    assert code == 0, error
    page = Page(tmp_path / "r.html")
    check_self_contained(page)
    assert "There are no test points; these are the validation points." in page.text
    assert "it flatters" in page.text
    assert "Not drawn: the data are not images." in page.text


def test_flat_settings():
    settings = {"a": 1, "b": {"c": None, "d": {"e": [2]}}}
    assert list(report.flat(settings)) == [("a", 1), ("b.c", None), ("b.d.e", [2])]


@pytest.mark.parametrize("output", ["nowhere/r.html", "."])
def test_a_place_that_cannot_be_written_exits_with_2(output, image_run, call):
    code, _, error = call("report", image_run, "--output", output)
    assert (code, "must be a file in a folder that exists" in error) == (2, True)


def test_data_that_changed_are_refused(copied_run, call):
    with np.load(copied_run / "split.npz") as split:
        changed = dict(split) | {"test": split["test"][::-1]}
    np.savez(copied_run / "split.npz", **changed)
    code, _, error = call("report", copied_run)
    assert (code, "must be those that" in error) == (2, True)
    assert not (copied_run / "report.html").exists()


def test_a_run_that_trained_no_network_has_no_curves(copied_run):
    (copied_run / "history.json").write_text("{}")
    drawn = report.pictures(Subject.of(OpenedRun.open(copied_run)))
    assert "took its M1 from another one" in drawn["learning_curves"]
    assert "<img" in drawn["latent_map"]


def test_predictions_do_not_need_the_data_of_the_run(copied_run, call, tmp_path):
    settings = json.loads((copied_run / "settings.json").read_text())
    settings["data"]["name"] = "gone.npz"
    (copied_run / "settings.json").write_text(json.dumps(settings))
    np.save(tmp_path / "x.npy", np.zeros((2, 6, 5, 3), np.uint8))
    code, output, error = call(
        "predict", copied_run, tmp_path / "x.npy", "--output", tmp_path / "p.csv"
    )
    assert code == 0, error
    assert f"not calibrated: run `tfssl calibrate {copied_run}`" in output
    assert list(read(tmp_path / "p.csv")[0])[-1].startswith("uncalibrated p(")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_predictions(image_run, class_names, tmp_path, call, rng):
    x = rng.integers(0, 256, (9, 6, 5, 3)).astype(np.uint8)
    np.save(tmp_path / "x.npy", x)
    arguments = ["predict", image_run, tmp_path / "x.npy", "--samples", 3, "--output"]
    code, output, error = call(*arguments, tmp_path / "p.csv", "--abstain-below", 0.6)
    assert code == 0, error
    run = of_run.TrainedRun(image_run)
    fitted = Calibration.load(run.folder)
    probabilities = fitted(run.probabilities(x))
    assert f"calibrated: {fitted}" in " ".join(output.split())
    rows = read(tmp_path / "p.csv")
    got = np.array([[row[f"calibrated p({name})"] for name in class_names] for row in rows], float)
    np.testing.assert_allclose(got, probabilities, rtol=1e-4)
    entropy = -np.sum(probabilities * np.log(probabilities), axis=1)
    np.testing.assert_allclose([float(row["entropy"]) for row in rows], entropy, rtol=1e-4)
    scores = importance.log_likelihood(run.model, run.preprocessing(x).numpy(), 3)
    np.testing.assert_allclose([float(row["log_likelihood"]) for row in rows], scores, rtol=1e-4)
    expected = [class_names[p.argmax()] if p.max() >= 0.6 else "" for p in probabilities]
    assert [row["label"] for row in rows] == expected
    assert f"{expected.count('')} of 9 without a label" in output

    code, output, error = call(*arguments, tmp_path / "raw.csv", "--raw", "--samples", 0)
    assert code == 0, error
    assert "not calibrated: --raw" in output
    rows = read(tmp_path / "raw.csv")
    assert "log_likelihood" not in rows[0]
    got = np.array(
        [[row[f"uncalibrated p({name})"] for name in class_names] for row in rows], float
    )
    np.testing.assert_allclose(got, run.probabilities(x), rtol=1e-4)


@pytest.mark.parametrize("shape", [(0, 6, 5, 3), ()])
def test_no_inputs_exit_with_2(shape, image_run, tmp_path, call):
    np.save(tmp_path / "x.npy", np.zeros(shape, np.uint8))
    output = tmp_path / "p.csv"
    code, _, error = call("predict", image_run, tmp_path / "x.npy", "--output", output)
    assert (code, "at least one input" in error) == (2, True)
    assert not output.exists()


@pytest.mark.parametrize("threshold", ["-0.1", "1.1", "sure"])
def test_the_threshold_is_a_probability(threshold, image_run, tmp_path, call):
    output = tmp_path / "p.csv"
    code, _, _ = call(
        "predict", image_run, "x.npy", "--abstain-below", threshold, "--output", output
    )
    assert code == 2
    assert not output.exists()
