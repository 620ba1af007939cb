"""A blend in files: the same answers when it is read back, and clear words where it is damaged."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from tfssl.blends import files
from tfssl.classifiers.files import load_classifier, save_classifier
from tfssl.errors import InputError


@pytest.fixture(scope="module")
def saved(blend, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blend") / "blend"
    files.save_blend(folder, blend)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "blend")
    return tmp_path / "blend"


def test_it_answers_as_before(saved, blend, pixels):
    found = files.load_blend(saved)
    new = pixels[0][500:700]
    np.testing.assert_array_equal(found(new), blend(new))
    assert [m.name for m in found.members] == [m.name for m in blend.members]
    np.testing.assert_array_equal(found.views.active, blend.views.active)


def test_without_networks_there_are_none(blend, tmp_path, pixels):
    shallow = tuple(m for m in blend.members if m.view != "latents" and m.name != "M2")
    total = sum(m.weight for m in shallow)
    members = tuple(dataclasses.replace(m, weight=m.weight / total) for m in shallow)
    views = dataclasses.replace(blend.views, m1=None, active=None)
    small = dataclasses.replace(blend, members=members, views=views)
    files.save_blend(tmp_path, small)
    assert not list(tmp_path.glob("*.keras"))
    x = pixels[0][500:550]
    np.testing.assert_array_equal(files.load_blend(tmp_path)(x), small(x))


def test_a_forest_is_small(tmp_path, rng):
    """100 trees on 2,000 labels of 10 noisy classes: as large as trees become."""
    x, y = rng.normal(size=(2000, 20)), rng.integers(10, size=2000)
    save_classifier(tmp_path / "f.skops", RandomForestClassifier(100, random_state=0).fit(x, y))
    assert (tmp_path / "f.skops").stat().st_size < 6e6


def change(folder, **values):
    found = json.loads((folder / files.FILE).read_text())
    (folder / files.FILE).write_text(json.dumps(found | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": 2}, "must be of format 1"),
        ({"members": []}, "positive weights and shares that sum to 1"),
        ({"shares": [1.0]}, "damaged"),
        ({"shares": [-0.1, 1.1] + [0.0] * 8}, "positive weights and shares"),
        ({"temperature": 0.0}, "positive temperatures"),
        ({"temperature": float("nan")}, "positive temperatures"),
        ({"members": 3}, "damaged"),
    ],
)
def test_a_damaged_record_is_refused(values, message, copy):
    change(copy, **values)
    with pytest.raises(InputError, match=message):
        files.load_blend(copy)


@pytest.mark.parametrize(("key", "value"), [("file", "../0.skops"), ("view", "inner")])
def test_a_member_must_be_one_of_the_folder(key, value, copy):
    members = json.loads((copy / files.FILE).read_text())["members"]
    members[0][key] = value
    change(copy, members=members)
    with pytest.raises(InputError, match="must name files of the folder"):
        files.load_blend(copy)


def test_files_that_do_not_fit_one_another_are_refused(copy):
    """Logistic regression of the scaled columns, in the place of an SVM on their components."""
    members = json.loads((copy / files.FILE).read_text())["members"]
    of = {member["name"]: copy / member["file"] for member in members}
    shutil.copy(of["logistic regression"], of["SVM"])
    with pytest.raises(InputError, match="is damaged"):
        files.load_blend(copy)


@pytest.mark.parametrize("name", ["views.npz", "m1.keras", "0.skops", "10.keras", "blend.json"])
def test_a_broken_or_missing_file_is_named(name, copy):
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=name):
        files.load_blend(copy)
    (copy / name).unlink()
    with pytest.raises(InputError, match=f"cannot read .*{name}"):
        files.load_blend(copy)


@pytest.mark.parametrize(
    ("key", "value"),
    [("left_child", 10**6), ("left_child", -5), ("right_child", 0), ("feature", 7)],
)
def test_a_tree_that_leads_out_of_itself_is_refused(key, value, tmp_path, rng):
    """scikit-learn follows a node wherever it points."""
    forest = RandomForestClassifier(2).fit(rng.normal(size=(40, 3)), np.arange(40) % 3)
    tree = forest.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][key][0] = value
    tree.__setstate__(state)
    save_classifier(tmp_path / "f.skops", forest)
    assert skops.io.get_untrusted_types(file=tmp_path / "f.skops") == ["sklearn.tree._tree.Tree"]
    with pytest.raises(InputError, match="a tree must"):
        load_classifier(tmp_path / "f.skops")
