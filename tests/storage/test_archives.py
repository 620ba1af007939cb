"""Files from strangers are data: bounded, without code, and refused with a message."""

import io
import json
import shutil
import zipfile

import keras
import numpy as np
import pytest

from tfssl.classifiers.files import load_classifier
from tfssl.errors import InputError
from tfssl.models import M2
from tfssl.models.enumeration import LikeliestClasses
from tfssl.runs.folder import RunFolder
from tfssl.runs.trained import TrainedRun
from tfssl.settings import load_settings
from tfssl.storage import archives, files
from tfssl.training.run import train

DEEP = "[" * 100_000
MODELS = ("tfssl>M1", "tfssl>M2", "tfssl>StackedM1M2")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A tiny finished run with every kind of file."""
    options = ["model=m1", "m1.classifier=knn", "m1.epochs=1", "m1.hidden_units=[8]"]
    folder = tmp_path_factory.mktemp("archives") / "run"
    train(load_settings(None, [*options, "m1.latent_dim=4"]), folder)
    return folder


@pytest.fixture
def copy(run_dir, tmp_path):
    return shutil.copytree(run_dir, tmp_path / "copy")


def write_zip(path, members):
    """A zip archive of {name: bytes}."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def test_arrays_are_read_as_numpy_reads_them(tmp_path, rng):
    arrays = {
        "a": rng.normal(size=(3, 4)),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "empty": np.empty((0, 8, 8), np.uint8),
        "text": np.array(["x", "yz"]),
        "scalar": np.array(5),
        "with/slash": np.array([True, False]),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = archives.read_arrays(tmp_path / "a.npz")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_pickled_objects_are_refused_unread(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}, None], object))
    np.save(tmp_path / "a.npy", np.array([{"a": 1}, None], object))
    with pytest.raises(InputError, match="must not hold Python objects"):
        archives.read_arrays(tmp_path / "a.npz")
    with pytest.raises(InputError, match="must not hold Python objects"):
        archives.read_array(tmp_path / "a.npy")


def test_a_header_cannot_claim_more_than_the_file_holds(tmp_path):
    content = npy(np.zeros(1000, np.uint8))
    larger = content.replace(b"(1000,)", b"(10**9)").replace(b"(10**9)", b"(9999,)")
    (tmp_path / "a.npy").write_bytes(larger)
    write_zip(tmp_path / "a.npz", {"x.npy": larger})
    with pytest.raises(InputError, match="as long as its header says"):
        archives.read_array(tmp_path / "a.npy")
    with pytest.raises(InputError, match="as long as its header says"):
        archives.read_arrays(tmp_path / "a.npz")


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    write_zip(tmp_path / "bomb.npz", {"x.npy": npy(np.zeros(10**7, np.uint8))})
    assert (tmp_path / "bomb.npz").stat().st_size < 10**5
    monkeypatch.setattr(archives, "memory", lambda: 10**7)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(InputError, match="must unpack to at most half of this machine's"):
        archives.read_arrays(tmp_path / "bomb.npz")


def test_an_archive_of_too_many_files_is_refused(tmp_path):
    write_zip(tmp_path / "many.npz", {f"{i}.npy": b"" for i in range(archives.MAX_MEMBERS + 1)})
    with pytest.raises(InputError, match="must unpack to at most"):
        archives.check_archive(tmp_path / "many.npz")


@pytest.mark.parametrize("name", ["../x.npy", "/etc/x.npy", "a/../../x.npy", "..\\x.npy"])
def test_names_that_lead_out_of_an_archive_are_refused(name, tmp_path):
    write_zip(tmp_path / "a.npz", {name: npy(np.zeros(3))})
    with pytest.raises(InputError, match="must hold no file outside of it"):
        archives.read_arrays(tmp_path / "a.npz")


READERS = {
    "model.keras": lambda folder: RunFolder(folder).load_model("model.keras"),
    "preprocessing.npz": lambda folder: RunFolder(folder).preprocessing(),
    "classifier.skops": lambda folder: load_classifier(folder / "classifier.skops"),
}


@pytest.mark.parametrize("file", READERS)
def test_every_archive_of_a_run_is_checked(file, copy, monkeypatch):
    monkeypatch.setattr(archives, "memory", lambda: 100)
    with pytest.raises(InputError, match=f"{file} must unpack to at most half"):
        READERS[file](copy)


def change_model(path, change):
    """Rewrite a .keras file with `change(its config)`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    config = change(config) or config
    members["config.json"] = config if isinstance(config, str) else json.dumps(config)
    write_zip(path, members)


LAMBDA = {
    "module": "keras.layers",
    "class_name": "Lambda",
    "registered_name": None,
    "config": {
        "name": "a",
        "function": {"class_name": "__lambda__", "config": {"code": "4wEAAA==", "defaults": None}},
    },
}
HOSTILE = {
    "a function of Python": (
        lambda c: c.update(module="builtins", class_name="exec", registered_name="exec"),
        "must hold one of tfssl>M1",
    ),
    "a Lambda layer": (lambda _: LAMBDA, "must hold one of tfssl>M1"),
    "an object among the settings": (
        lambda c: c["config"].update(hidden_units=LAMBDA),
        "must hold plain settings",
    ),
    "an object in a list": (
        lambda c: c["config"].update(hidden_units=[LAMBDA]),
        "must hold plain settings",
    ),
    "an object as dtype": (
        lambda c: c["config"].update(dtype=LAMBDA),
        "must hold plain settings",
    ),
    "a network that would fill the memory": (
        lambda c: c["config"].update(hidden_units=[10**6, 10**6]),
        "must hold the weights of its networks",
    ),
    "a size that is none": (
        lambda c: c["config"].update(latent_dim=-1),
        "must hold networks of whole sizes",
    ),
    "an unknown setting": (lambda c: c["config"].update(surprise=1), "is damaged"),
    "no settings": (lambda _: {"registered_name": "tfssl>M1"}, "is damaged"),
    "deep nesting": (lambda _: DEEP, "is damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models_are_refused(name, copy):
    change, message = HOSTILE[name]
    change_model(copy / "model.keras", change)
    with pytest.raises(InputError, match=message):
        TrainedRun(copy)


HOSTILE_PARTS = {
    "a layer": LAMBDA,
    "a layer under a part's name": {**LAMBDA, "registered_name": "tfssl>AllClasses"},
    "a layer in a part": {"registered_name": "tfssl>LikeliestClasses", "config": {"k": LAMBDA}},
    "a part that wants to be built": {
        "registered_name": "tfssl>AllClasses",
        "config": {},
        "build_config": {"input_shape": [10**9]},
    },
    "text": "tfssl>AllClasses",
}


@pytest.mark.parametrize("name", HOSTILE_PARTS)
def test_hostile_parts_of_a_model_are_refused(name, tmp_path):
    M2(4, 2, 5, 5, 2, (3,), top_classes=1).save(tmp_path / "model.keras")
    change_model(
        tmp_path / "model.keras", lambda c: c["config"].update(enumeration=HOSTILE_PARTS[name])
    )
    with pytest.raises(InputError, match=r"must hold|is damaged"):
        archives.check_model(tmp_path / "model.keras", MODELS)


def test_the_parts_that_we_write_pass(tmp_path):
    for top_classes in (None, 1):
        M2(4, 2, 5, 5, 2, (3,), top_classes=top_classes).save(tmp_path / "model.keras")
        archives.check_model(tmp_path / "model.keras", MODELS)


def test_an_older_file_is_read_or_refused_by_its_name(tmp_path):
    """Before the enumeration was a part there was `top_classes`, and other networks of "x"."""
    path = tmp_path / "model.keras"

    def older(config):
        del config["config"]["enumeration"]
        config["config"]["top_classes"] = 1

    for posterior_scale in ("xy", "x"):
        M2(4, 2, 5, 5, 2, (3,), posterior_scale=posterior_scale).save(path)
        change_model(path, older)
        if posterior_scale == "xy":
            archives.check_model(path, MODELS)
            assert keras.saving.load_model(path).enumeration == LikeliestClasses(1)
    with pytest.raises(InputError, match="of an earlier version"):
        archives.check_model(path, MODELS)


def test_a_classifier_of_an_unknown_type_is_refused(copy):
    import skops.io
    from sklearn.feature_selection import SelectKBest

    skops.io.dump(SelectKBest(score_func=shutil.rmtree), copy / "classifier.skops")
    with pytest.raises(InputError, match=r"classifier\.skops is damaged.*rmtree"):
        TrainedRun(copy)


@pytest.mark.parametrize("name", ["run.json", "settings.json"])
@pytest.mark.parametrize(
    "content",
    [DEEP, '{"a":' * 100_000, "[]", "3", '"text"', "{", "", "\xff", "9" * 5000, '{"format": 1'],
)
def test_hostile_json_is_refused(name, content, copy):
    (copy / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        TrainedRun(copy)


def test_json_files_have_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 10)
    (tmp_path / "a.json").write_text('{"a": "0123456789"}')
    with pytest.raises(InputError, match="must be at most 10 bytes"):
        files.read_json(tmp_path / "a.json")


@pytest.mark.parametrize("file", READERS)
def test_no_part_of_a_file_passes_for_the_whole(file, copy):
    """Cut off anywhere, as by a copy that did not end."""
    whole = (copy / file).read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        (copy / file).write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError, match=file.replace(".", r"\.")):
            TrainedRun(copy)


def test_flipped_bits_are_refused_or_harmless(copy, rng):
    """Zip archives have check sums: a run with a changed byte is refused, or loads as before."""
    whole = TrainedRun(copy)
    x = rng.integers(0, 17, size=(5, 8, 8))
    expected = whole.probabilities(x)
    for file in ("model.keras", "preprocessing.npz"):
        content = (copy / file).read_bytes()
        for place in rng.integers(0, len(content), 12):
            spoilt = bytearray(content)
            spoilt[place] ^= 1 << int(rng.integers(8))
            (copy / file).write_bytes(spoilt)
            try:
                found = TrainedRun(copy).probabilities(x)
            except InputError:
                continue
            np.testing.assert_array_equal(found, expected)
        (copy / file).write_bytes(content)
