"""The paper's tables in small: which jobs run, and what a result holds."""

import pytest

from tfssl.errors import InputError
from tfssl.paper import reproduction, tables
from tfssl.settings import load_settings
from tfssl.storage.files import read_json

SETTINGS = """
likelihood = "binomial"
[data]
num_validation = 60
[m1]
epochs = 20
latent_dim = 10
hidden_units = [20]
[m2]
epochs = 20
latent_dim = 5
hidden_units = [20]
supervised_steps = 2
evaluate_every = 1
"""
TABLE = tables.PaperTable(
    "Table 0: digits",
    "digits",
    (20, 30),
    {"knn": (50.0, 40.0), "m1_tsvm": (None, 30.0), "m2": (20.0, 20.0), "m1_m2": (10.0, 10.0)},
)


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    for model in ("m2", "m1m2"):
        (folder / f"digits_{model}.toml").write_text(f'model = "{model}"\n{SETTINGS}')
    return folder


@pytest.fixture(scope="module")
def all_labels(tmp_path_factory):
    """The settings of M2 with all labels, on the digits whatever the name says."""
    folder = tmp_path_factory.mktemp("all_labels")
    for data in ("mnist", "svhn"):
        text = f'model = "m2"\n{SETTINGS}'.replace("[data]", '[data]\nnum_labelled = "all"')
        (folder / f"{data}_m2_all.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def supervised(all_labels, tmp_path_factory):
    folder = tmp_path_factory.mktemp("supervised")
    return folder, reproduction.run_supervised(folder, all_labels, "quick")


def plan(folder, configs, **options):
    options = {"labels": (20,), "splits": 2, "budget": "quick", **options}
    return reproduction.Reproduction(TABLE, folder, configs, **options)


@pytest.fixture(scope="module")
def done(configs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    lines = []
    return plan(folder, configs).run(lines.append), lines, folder


def test_every_job_leaves_a_result(done):
    results, lines, folder = done
    assert [(r["method"], r["split"]) for r in results] == [
        (method, split) for split in (0, 1) for method in TABLE.published
    ]
    assert len(lines) == 1 + 8  # M1 is a job of its own
    assert (folder / "results" / "digits_m1_m2_20_split1_quick.json").is_file()
    for result in results:
        assert result["labels"]["training"] == 20
        assert result["budget"] == "quick"
        assert 0 < result["test"]["error"] < 1
        assert result["validation"]["examples"] == 60
        assert result["versions"]["tensorflow"]
        assert result["settings"]["data"]["split_seed"] == result["settings"]["seed"]
        assert ("selected" in result) == (result["method"] in ("m2", "m1_m2"))


def test_m1_is_trained_once_and_its_place_is_no_setting(done):
    results, _, folder = done
    assert [path.name for path in (folder / "runs").glob("*_m1_*") if (path / "m1").exists()] == [
        "digits_m1_quick"
    ]
    stack = next(result for result in results if result["method"] == "m1_m2")
    assert stack["settings"]["m1"]["run"] is None
    assert stack["settings"]["m2"]["epochs"] == 2
    assert list(stack["training_seconds"]) == ["m2"]


def test_what_is_there_is_not_run_again(done, configs):
    results, _, folder = done
    lines = []
    assert plan(folder, configs).run(lines.append) == results
    assert plan(folder, configs, methods=("m2",), splits=1).run(lines.append) == [results[2]]
    assert lines == []


def test_results_of_other_settings_are_not_mixed_in(done, configs):
    _, _, folder = done
    changed = plan(folder, configs, overrides=("device.precision=mixed_bfloat16",))
    with pytest.raises(InputError, match=r"device\.precision = 'float32' instead of 'mixed_bfloa"):
        changed.run()


def test_baselines_do_not_depend_on_moved_images(done, configs):
    results, _, folder = done
    moved = {"methods": ("knn",), "overrides": ("data.max_shift=1",)}
    assert plan(folder, configs, **moved).run() == [r for r in results if r["method"] == "knn"]


def test_all_jobs_share_the_m1_that_is_there(done):
    results, _, folder = done
    (m1,) = {result["m1"] for result in results if result.get("m1") is not None}
    assert m1 == read_json(folder / "results" / "digits_m1_quick.json")["m1"]
    assert next(result for result in results if result["method"] == "m2")["m1"] is None
    with pytest.raises(InputError, match="digits m1_tsvm, 20 labels, split 0"):
        reproduction.check_m1(results, {"m1": "another"})


def test_without_validation_points_no_other_label_is_used(configs, tmp_path):
    (result,) = plan(tmp_path, configs, methods=("m2",), splits=1, validation=False).run()
    assert result["labels"] == {"training": 20, "model_selection": 0}
    assert "validation" not in result
    assert "selected" not in result


def test_all_labels_are_classified_by_bayes_rule_too(supervised, all_labels):
    folder, result = supervised
    assert result["labels"]["training"] == 1797 - 500 - 60
    for way in ("recognition", "bayes"):
        assert result["likelihood"][way]["examples"] == 500
        assert 0 < result["likelihood"][way]["error"] < 0.9
    assert reproduction.run_supervised(folder, all_labels, "quick") == result


def test_without_validation_every_label_is_learned_from(supervised, all_labels):
    folder, with_validation = supervised
    result = reproduction.run_supervised(folder, all_labels, "quick", validation=False)
    assert result["labels"] == {"training": 1797 - 500, "model_selection": 0}
    assert reproduction.run_supervised(folder, all_labels, "quick") == with_validation


def test_figure_1_has_its_three_parts(supervised, all_labels):
    folder, _ = supervised
    lines = []
    paths = reproduction.run_figure1(folder, all_labels, "quick", report=lines.append)
    drawn = {(path.parent.name, path.name) for path in paths if path.is_file()}
    assert {("1a", f"style_grid_{k}.png") for k in range(10)} <= drawn
    assert {("1b", "analogies.png"), ("1c", "analogies.png")} <= drawn
    assert not any(part != "1a" and name.startswith("style_grid") for part, name in drawn)
    assert len(lines) == 3
    with pytest.raises(InputError, match=r"settings must equal those of .*mnist_m2_"):
        reproduction.run_figure1(folder, all_labels, "quick", ("m2.epochs=40",))


def test_one_number_of_labels_may_have_settings_of_its_own(tmp_path):
    for name, epochs in (("digits_m2", 20), ("digits_m2_20", 70)):
        text = SETTINGS.replace("[m2]\nepochs = 20", f"[m2]\nepochs = {epochs}")
        (tmp_path / f"{name}.toml").write_text(f'model = "m2"\n{text}')
    whole = plan(tmp_path, tmp_path, labels=(20, 30), budget="full")
    assert [whole.settings("m2", labels, 0).m2.epochs for labels in (20, 30)] == [70, 20]


def test_overrides_are_settings_of_every_job(configs, tmp_path):
    changes = ("device.precision=mixed_bfloat16", "m1.latent_dim=7", "data.split_seed=9")
    whole = plan(tmp_path, configs, overrides=changes)
    for method, labels, split in (("m1_m2", 20, 0), ("m2", 30, 1)):
        settings = whole.settings(method, labels, split)
        assert (settings.device.precision, settings.m1.latent_dim) == ("mixed_bfloat16", 7)
        assert settings.data.split_seed == split


@pytest.mark.parametrize(
    ("options", "message"),
    [({"methods": ("m3",)}, "has these methods: knn"), ({"labels": (7,)}, "has these labels: 20")],
)
def test_unknown_rows_and_columns_are_explained(options, message, configs, tmp_path):
    with pytest.raises(InputError, match=message):
        plan(tmp_path, configs, **options)


@pytest.mark.parametrize("name", tables.TABLES)
def test_the_papers_tables_have_their_settings(name, request):
    table = tables.TABLES[name]
    for published in table.published.values():
        assert len(published) == len(table.labels)
    folder = request.config.rootpath / "configs"
    whole = reproduction.Reproduction(table, folder, folder)
    assert all(job.title.startswith(table.title) for job in whole.jobs())
    # M1 is trained once, so the settings for any number of labels must ask for the same.
    m1 = [whole.settings("m1_tsvm", labels, 0).m1 for labels in table.labels]
    assert m1 == m1[:1] * len(m1)
    for model in ("m1m2", *(("m2",) if "m2" in table.published else ())):
        assert load_settings(folder / f"{table.data}_{model}.toml").model == model
