"""README and docs: tables made from the committed result files, and nothing named that is gone."""

import functools
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import tfssl

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"(?:\]\(|src=\")([^)\"]+)[)\"]")
PATH = re.compile(r"(?:tfssl|pipelines|benchmarks|tests|configs|docs)/[\w./-]*(?:\.\w+|/)")


def test_tables_are_up_to_date(monkeypatch):
    """In this process: it ends with a message if they are not."""
    monkeypatch.setattr(sys, "argv", ["benchmarks.tables", "--check"])
    # Another test may have imported it, and it is to run as if it were new.
    monkeypatch.delitem(sys.modules, "benchmarks.tables.__main__", raising=False)
    runpy.run_module("benchmarks.tables", run_name="__main__")


def test_the_first_page_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_first_pages_python_runs(monkeypatch, capsys):
    """As it stands, but for the length of the training."""
    short = functools.partial(tfssl.SemiSupervisedClassifier, epochs=1, supervised_steps=20)
    monkeypatch.setattr(tfssl, "SemiSupervisedClassifier", short)
    example = _python(README)
    assert len(example.splitlines()) <= 10
    exec(compile(example, README, "exec"), {})
    error = re.search(r"error: ([\d.]+)", capsys.readouterr().out)
    assert 0 <= float(error[1]) < 0.9


def test_the_keras_models_fit_as_shown(rng):
    """With two steps instead of 100 epochs."""
    example = _python(ROOT / "docs" / "experiments.md")
    names = {
        "x_labelled": rng.random((100, 784), np.float32),
        "labels": np.arange(100) % 10,
        "x_unlabelled": rng.random((300, 784), np.float32),
    }
    short = example.replace("steps_per_epoch=499, epochs=100", "steps_per_epoch=2, epochs=1")
    assert short != example
    exec(compile(short, "experiments.md", "exec"), names)
    assert np.isfinite(names["m2"].history.history["loss"]).all()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" not in path:
            linked = document.parent / path if path else document
            assert linked.exists(), target
            assert not anchor or anchor in _anchors(linked), target


@pytest.mark.parametrize("document", DOCUMENTS[:1] + DOCUMENTS[2:], ids=lambda path: path.name)
def test_named_files_exist(document):
    """Paths such as tfssl/models/m2.py; the changelog may name what is gone."""
    named = PATH.findall(document.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_one_spelling():
    american = ("unlabel" + "ed", "label" + "ed ")
    for path in [*ROOT.glob("*.md"), *ROOT.glob("tfssl/**/*.py"), *ROOT.glob("pipelines/*.py")]:
        text = path.read_text(encoding="utf-8").lower()
        assert not any(word in text for word in american), path


def _python(document):
    """The one example in Python of a document."""
    text = document.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return example


def _anchors(document):
    """The anchors of a document's headings, as they are made on a forge."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
