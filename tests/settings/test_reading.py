"""Settings: defaults, files, overrides, and messages that name the nearest valid key."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tfssl.errors import InputError
from tfssl.settings import Settings, differences, dump_settings, load_settings, parse_settings

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_is_valid_and_named_after_its_data_and_model(path):
    settings = load_settings(path)
    data, model, *labels = path.stem.split("_")
    assert settings.data.name.startswith(data)
    assert settings.model == model
    assert labels in ([], [str(settings.data.num_labelled)])


def test_dump_and_parse_are_inverse(tmp_path):
    settings = load_settings(None, ["m2.class_prior=[0.25, 0.75]", "m1.hidden_units=[7]"])
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(dump_settings(settings)))
    assert load_settings(path) == settings


def test_differences_are_named():
    settings = load_settings(None, ["m2.epochs=40", "m1.hidden_units=[7]"])
    found = json.loads(json.dumps(dump_settings(settings)))
    assert differences(found, dump_settings(settings)) == ""
    changed = dump_settings(load_settings(None, ["m2.epochs=80", "m1.hidden_units=[7]"]))
    assert differences(found, changed) == "m2.epochs = 40 instead of 80"
    assert differences(found, {"data": changed["data"]}) == ""
    # An older record does not know a newer setting, which was at its default.
    del found["data"]["max_shift"]
    assert differences(found, dump_settings(settings)) == ""
    moved = {"data": {"max_shift": 2, "whitening": 300}}
    told = "data.max_shift = 0 instead of 2, data.whitening = None instead of 300"
    assert differences(found, moved) == told


@pytest.mark.parametrize("whitening", [None, 1, 600, 0.999])
def test_whitening_is_a_number_of_components_or_a_share(whitening, tmp_path):
    settings = parse_settings({"likelihood": "gaussian", "data": {"whitening": whitening}})
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(dump_settings(settings)))
    again = load_settings(path).data.whitening
    assert (again, type(again)) == (whitening, type(whitening))


def test_overrides_win_over_the_file_and_may_be_bare_words(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('model = "m2"\n[m2]\nepochs = 3\n')
    settings = load_settings(path, ["m2.epochs=7", "data.name=mnist", "m2.learning_rate=1"])
    assert (settings.model, settings.m2.epochs, settings.data.name) == ("m2", 7, "mnist")
    assert settings.m2.learning_rate == 1.0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("m2.epoch=3", "unknown setting `m2.epoch`; did you mean `m2.epochs`?"),
        ("modle=m2", "unknown setting `modle`; did you mean `model`?"),
        ("data.zzz=1", "unknown setting `data.zzz`; valid names: data.name, data.label"),
        ("m2.epochs=many", r"`m2.epochs`: Input should be a valid integer.*Received: 'many'"),
        ("m2.epochs=2.5", "`m2.epochs`: Input should be a valid integer"),
        ("m2.epochs=0", "`m2.epochs`: Input should be greater than 0"),
        ("m2.epochs=true", "`m2.epochs`: Input should be a valid integer"),
        ("m2.learning_rate=nan", "`m2.learning_rate`"),
        ("model=m3", "`model`: Input should be 'auto', 'm1', 'm2' or 'm1m2'"),
        ("m1.hidden_units=[]", "`m1.hidden_units`"),
        ("m2.class_prior=[0.5, 0.4]", "must sum to 1"),
        ("data.whitening=10", 'needs likelihood = "gaussian" or "isotropic", but it is "binomial"'),
        ("data.whitening=0", r"`data.whitening\..*greater than 0"),
        ("data.whitening=1.0", r"`data.whitening\..*less than 1"),
        ("data.downsample=0", "`data.downsample`: Input should be greater than 0"),
        ("seed=-1", "`seed`: Input should be greater than or equal to 0"),
        ("m2", "an override must have the form key=value"),
        ("=3", "an override must have the form key=value"),
        ("model.kind=m2", "`model`"),
    ],
)
def test_bad_overrides_are_explained(override, message):
    with pytest.raises(InputError, match=message):
        load_settings(None, [override])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "model = ", "is not a valid TOML file"),
        ("a.json", "{", "is not a valid JSON file"),
        ("a.json", "[1]", "must hold a table of settings"),
        ("a.yaml", "model: m2", "settings must be a .toml or .json file"),
        ("a.toml", "[m2]\nepohcs = 3", "did you mean `m2.epochs`"),
    ],
)
def test_bad_files_are_explained(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load_settings(tmp_path / name)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"cannot read settings .*No such file"):
        load_settings(tmp_path / "none.toml")


KEYS = ["model", "seed", "m2", "m2.epochs", "data.name", "m1.hidden_units", "x", "", "m2.a.b"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@hypothesis_settings(max_examples=300, deadline=None)
@given(st.sampled_from(KEYS) | st.text(max_size=8), st.text(max_size=8))
def test_any_override_gives_settings_or_an_input_error(key, value):
    with contextlib.suppress(InputError):
        assert isinstance(load_settings(None, [f"{key}={value}"]), Settings)


@hypothesis_settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*Settings.model_fields, "x"]), json_values, max_size=3))
def test_any_values_give_settings_or_an_input_error(values):
    with contextlib.suppress(InputError):
        assert isinstance(parse_settings(values), Settings)
