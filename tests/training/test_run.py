"""Runs: what the folder holds, exact resumption after SIGKILL, several devices, bad input."""

import json
import math
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from tfssl.data.experiment import Experiment
from tfssl.errors import InputError
from tfssl.pictures.of_model import training_pictures
from tfssl.runs.evaluation import evaluate_experiment
from tfssl.runs.trained import TrainedRun
from tfssl.settings import load_settings, with_changes
from tfssl.training.divergence import DivergenceError
from tfssl.training.run import train
from tfssl.training.stage import largest_divisor, plan_epoch
from tfssl.training.strategy import check_batch_sizes

SMALL = [
    "m1.epochs=2",
    "m2.epochs=2",
    "m1.hidden_units=[20]",
    "m2.hidden_units=[20]",
    "m1.latent_dim=10",
    "m2.latent_dim=5",
    "m2.supervised_steps=2",
    "data.num_validation=60",
    "m1.evaluate_every=1",
    "m2.evaluate_every=1",
]


def small(*overrides):
    return load_settings(None, [*SMALL, *overrides])


@pytest.fixture(scope="module", params=["m1", "m2", "m1m2"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / request.param
    return train(
        small(f"model={request.param}", "m1.classifier=svm"), folder, draw=training_pictures
    )


def test_the_run_folder_holds_everything(run):
    folder = run.folder
    record = folder.read_json("run.json")
    assert record["status"] == "finished"
    assert record["versions"]["tensorflow"] == tf.__version__
    assert folder.settings() == run.settings
    history = folder.read_json("history.json")
    stages = {"m1": ["m1"], "m2": ["m2"], "m1m2": ["m1", "m2"]}[run.settings.model]
    assert list(history) == stages
    for epochs in history.values():
        assert len(epochs) == 2
        assert all(np.isfinite(list(epoch.values())).all() for epoch in epochs)
        assert "val_loss" in epochs[-1]
    with np.load(folder / "split.npz") as rows:
        assert len(rows["labelled"]) == 50
        assert len(rows["validation"]) == 60
        assert len(rows["test"]) == 500
    metrics = folder.read_json("metrics.json")
    assert metrics["labels"] == {"training": 50, "model_selection": 60}
    assert 0 < metrics["test"]["error"] < 1
    leftovers = [p for p in folder.path.rglob("*") if p.name.startswith(".")]
    assert leftovers == []


def test_a_loaded_run_predicts_what_was_measured(run):
    experiment = Experiment.prepare(run.settings)
    probabilities = run.probabilities(experiment.split.x_test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    error = np.mean(probabilities.argmax(axis=1) != experiment.split.label_test)
    assert error == run.folder.read_json("metrics.json")["test"]["error"]


def test_tensorboard_gets_every_term_pictures_and_embeddings(run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logs = run.folder / "tensorboard"
    stage = "m1" if run.settings.model == "m1" else "m2"

    def tags(folder, kind):
        events = EventAccumulator(str(folder))
        events.Reload()
        return set(events.Tags()[kind])

    network = run.model.m2 if run.settings.model == "m1m2" else run.model
    terms = {f"epoch_{name}" for name in network.loss_names}
    assert terms | {"epoch_learning_rate"} <= tags(logs / stage / "train", "tensors")
    assert terms <= tags(logs / stage / "validation", "tensors")
    pictures = {"reconstructions"} if stage == "m1" else {"reconstructions", "class_samples"}
    assert pictures <= tags(logs / stage, "tensors")
    assert "latents.tsv" in (logs / "projector_config.pbtxt").read_text()
    vectors = np.loadtxt(logs / "latents.tsv")
    metadata = (logs / "metadata.tsv").read_text().splitlines()
    assert len(metadata) == len(vectors) + 1
    assert metadata[0] == "predicted\tgiven"
    given = [line.split("\t")[1] for line in metadata[1:]]
    assert sum(label != "-" for label in given) == 50


def test_an_existing_run_is_never_touched(run):
    before = {p: p.stat().st_mtime_ns for p in run.folder.path.rglob("*")}
    with pytest.raises(InputError, match="must not exist yet"):
        train(run.settings, run.folder.path)
    with pytest.raises(InputError, match=r"settings must equal those of .*seed = 0 instead of 9"):
        train(small("seed=9"), run.folder.path, resume=True)
    assert train(run.settings, run.folder.path, resume=True).settings == run.settings
    assert {p: p.stat().st_mtime_ns for p in run.folder.path.rglob("*")} == before


def test_the_same_seed_gives_the_same_weights(run, tmp_path):
    again = train(run.settings, tmp_path / "again")
    for a, b in zip(run.model.get_weights(), again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_trained_m1_can_be_reused(run, tmp_path):
    if run.settings.model == "m2":
        with pytest.raises(InputError, match=r"m1\.run must be a run of m1 or m1m2"):
            train(small("model=m1m2", f'm1.run="{run.folder.path}"'), tmp_path / "stack")
        return
    reused = train(small("model=m1m2", f'm1.run="{run.folder.path}"'), tmp_path / "stack")
    m1 = run.model if run.settings.model == "m1" else run.model.m1
    for a, b in zip(m1.get_weights(), reused.model.m1.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert list(reused.folder.read_json("history.json")) == ["m2"]
    digests = [folder.read_json("run.json")["m1_digest"] for folder in (run.folder, reused.folder)]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 16


def test_the_m1_of_an_interrupted_run_may_move_but_not_change(tmp_path):
    def m1(name, *overrides):
        options = ["model=m1", "m1.epochs=1", "m1.classifier=svm", *overrides]
        train(small(*options), tmp_path / name)
        return small("model=m1m2", "m2.epochs=1", f"m1.run={tmp_path / name}")

    settings, other = m1("m1"), m1("other", "seed=1")
    begun = train(settings, tmp_path / "run")
    begun.folder.write_status("running", settings.seed, m1=begun.model)
    (tmp_path / "m1").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"M1 of m1\.run must be the one that .*run began with"):
        train(other, tmp_path / "run", resume=True)
    settings = small("model=m1m2", "m2.epochs=1", f"m1.run={tmp_path / 'moved'}")
    assert train(settings, tmp_path / "run", resume=True).folder.is_finished
    chained = small("model=m1m2", f"m1.run={tmp_path / 'run'}")
    with pytest.raises(InputError, match=r"must be the run that trained the M1: .*m1"):
        train(chained, tmp_path / "chained")


def test_a_run_is_not_resumed_on_other_data(tmp_path):
    rng = np.random.default_rng(0)
    data = ["likelihood=gaussian", f"data.name={tmp_path / 'data.npz'}", "data.num_test=20"]
    settings = small("model=m2", "m2.epochs=1", *data)

    def write(count):
        np.savez(tmp_path / "data.npz", x=rng.normal(size=(count, 4)), y=np.arange(count) % 2)

    write(200)
    begun = train(settings, tmp_path / "run")
    begun.folder.write_status("running", settings.seed)
    write(210)
    before = (tmp_path / "run" / "split.npz").read_bytes()
    with pytest.raises(InputError, match=r"data must be those that .* was trained on"):
        train(settings, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "split.npz").read_bytes() == before


def test_damaged_and_foreign_runs_are_explained(run, tmp_path):
    import shutil

    def damaged(name, content):
        copy = tmp_path / f"{name}_{len(content)}"
        shutil.copytree(run.folder.path, copy)
        (copy / name).write_bytes(content)
        return copy

    other_format = json.dumps({"format": 99}).encode()
    with pytest.raises(InputError, match=r"must be a run of format 1\. Received: format=99"):
        TrainedRun(damaged("run.json", other_format))
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        TrainedRun(damaged("run.json", b"{"))
    with pytest.raises(InputError, match=r"model\.keras is damaged"):
        TrainedRun(damaged("model.keras", b"not a model"))
    with pytest.raises(InputError, match="must be a run folder"):
        TrainedRun(tmp_path / "nowhere")


CUT_SETTINGS = ["m1.epochs=3", "m2.epochs=40", "checkpoint_seconds=0", "model=m1m2"]


def command(folder, *arguments):
    options = [f"--set={setting}" for setting in [*SMALL, *CUT_SETTINGS]]
    return ["train", "--run-dir", str(folder), *options, *arguments]


def test_a_killed_run_resumes_to_the_same_weights(tmp_path, call):
    whole = train(load_settings(None, [*SMALL, *CUT_SETTINGS]), tmp_path / "whole")
    cut = tmp_path / "cut"
    program = [sys.executable, "-m", "tfssl.cli", *command(cut)]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = cut / "m2" / "checkpoint.npz"
    deadline = time.monotonic() + 240
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (cut / "model.keras").exists()
    with np.load(checkpoint) as file:
        assert 0 < len(json.loads(str(file["history"]))) < 40
    with pytest.raises(InputError, match="did not finish: continue it with"):
        TrainedRun(cut)
    code, _, error = call(*command(cut, "--resume"))
    assert code == 0, error
    resumed = TrainedRun(cut)
    for a, b in zip(whole.model.get_weights(), resumed.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert resumed.folder.read_json("history.json") == whole.folder.read_json("history.json")
    assert resumed.folder.read_json("metrics.json") == whole.folder.read_json("metrics.json")


def test_moved_images_train_another_model_that_is_measured_on_unmoved_ones(run, tmp_path):
    assert run.settings.data.max_shift == 0
    moved = train(with_changes(run.settings, data={"max_shift": 1}), tmp_path / "moved")
    weights = zip(run.model.get_weights(), moved.model.get_weights(), strict=True)
    assert any(np.any(a != b) for a, b in weights)
    experiment = Experiment.prepare(moved.settings)
    measured = evaluate_experiment(experiment, moved.model, moved.classifier)
    assert measured["test"] == moved.folder.read_json("metrics.json")["test"]


def test_only_images_can_be_moved_and_only_within_their_sides(tmp_path):
    table = tmp_path / "table.npz"
    np.savez(table, x=np.random.default_rng(0).random((200, 4)), y=np.arange(200) % 2)
    others = ["likelihood=gaussian", f"data.name={table}", "data.num_test=20"]
    for overrides in (["data.max_shift=8"], ["data.max_shift=1", *others]):
        with pytest.raises(InputError, match="max_shift moves images: it must be smaller"):
            Experiment.prepare(small(*overrides))


def test_the_weights_of_the_lowest_validation_error_are_measured_too(tmp_path):
    run = train(small("model=m2", "m2.epochs=6", "m2.averaging=0.5"), tmp_path / "run")
    errors = [epoch["val_error"] for epoch in run.folder.read_json("history.json")["m2"]]
    selected = run.folder.read_json("metrics.json")["selected"]
    assert selected["epoch"] == 1 + int(np.argmin(errors))
    assert selected["validation"]["error"] == pytest.approx(min(errors))
    assert selected["test"]["examples"] == 500
    alone = small("model=m2", "data.num_test=0")
    metrics = train(alone, tmp_path / "alone").folder.read_json("metrics.json")
    assert set(metrics) == {"labels", "validation", "selected"}
    assert set(metrics["selected"]) == {"epoch", "validation"}


MIRRORED = """
import json, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tfssl.settings import load_settings
from tfssl.training.run import train
overrides = json.loads(sys.argv[1])
for name in ("default", "mirrored"):
    run = train(load_settings(None, [*overrides, f"device.strategy={name}"]), name)
"""


def test_two_devices_give_the_losses_of_one(tmp_path):
    overrides = [*SMALL, "model=m1m2", "data.max_shift=1", "data.num_validation=600"]
    overrides += ["m2.class_prior=learned", "m2.clip_norm=1", "m2.warm_start=classifier"]
    arguments = [sys.executable, "-c", MIRRORED, json.dumps(overrides)]
    subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True)
    one, two = (TrainedRun(tmp_path / name) for name in ("default", "mirrored"))
    histories = [run.folder.read_json("history.json") for run in (one, two)]
    for stage in ("m1", "m2"):
        for a, b in zip(histories[0][stage], histories[1][stage], strict=True):
            assert a.keys() == b.keys()
            for name in a:
                np.testing.assert_allclose(a[name], b[name], rtol=2e-3, err_msg=f"{stage} {name}")
    priors = [run.model.m2.learned_prior.probabilities.numpy() for run in (one, two)]
    np.testing.assert_allclose(*priors, rtol=1e-3)
    assert np.ptp(priors[0]) > 1e-4


def test_a_batch_that_the_devices_cannot_share_is_refused():
    class TwoReplicas:
        num_replicas_in_sync = 2

    with pytest.raises(InputError, match=r"`m1\.batch_size` must be a multiple of the number of"):
        check_batch_sizes(load_settings(None, ["m1.batch_size=7"]), TwoReplicas())


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    # Long enough for float16's loss scale, which skips the first steps, to settle.
    return train(small("model=m2", "m2.epochs=15"), tmp_path_factory.mktemp("runs") / "exact")


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_trains(precision, exact, tmp_path):
    settings = with_changes(exact.settings, device={"precision": precision})
    run = train(settings, tmp_path / "run")
    losses = [r.folder.read_json("history.json")["m2"][-1]["loss"] for r in (run, exact)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.05)
    # What is kept, predicts and is exported is float32 like its weights.
    assert {layer.compute_dtype for layer in run.model.layers} == {"float32"}


def test_divergence_stops_training_before_the_checkpoint_is_spoilt(tmp_path):
    settings = small("model=m2", "m2.learning_rate=1e30", "m2.supervised_steps=0")
    with pytest.raises(DivergenceError, match="training of m2 diverged at step 2, in epoch 1"):
        train(settings, tmp_path / "run")
    assert not (tmp_path / "run" / "m2" / "checkpoint.npz").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.num_labelled=9"], "at least one per class"),
        (["data.num_labelled=2000"], "at most the labelled points there are"),
        (["data.num_validation=1290"], "every class must have|at most the labelled points"),
        (["m2.class_prior=[0.5, 0.5]"], "one probability per class.*classes=10"),
        (["m2.top_classes=11"], "must not exceed the number of classes.*classes=10"),
        (["data.num_labelled=1237"], "every class must have|must be unlabelled points"),
        (["m1.run=nowhere"], "nowhere must be a run folder"),
        (["device.strategy=tpu"], "device.strategy=tpu needs a TPU"),
    ],
)
def test_bad_settings_write_nothing(overrides, message, tmp_path):
    with pytest.raises(InputError, match=message):
        train(small(*overrides), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_no_unlabelled_points_is_an_error_unless_asked_for(tmp_path):
    path = tmp_path / "all.npz"
    rng = np.random.default_rng(0)
    np.savez(path, x=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    own = [f'data.name="{path}"', "likelihood=gaussian", "data.num_test=0", "data.num_validation=0"]
    with pytest.raises(InputError, match="there must be unlabelled points"):
        train(small(*own, "data.num_labelled=40"), tmp_path / "run")
    # The few steps of this training do not heal what seed 0 begins with, a scale near 0.
    run = train(small(*own, "data.num_labelled=all", "model=m2", "seed=1"), tmp_path / "run")
    assert run.model.num_unlabelled == 0


def test_the_kl_term_of_m1_warms_up(tmp_path):
    """It rises by one step in `kl_warmup` of the steps, and the loss of an epoch is its mean."""
    options = ["model=m1", "m1.classifier=svm", "m1.epochs=4", "m1.kl_warmup=0.5"]
    run = train(small(*options), tmp_path / "run")
    steps = plan_epoch(len(np.load(run.folder / "split.npz")["unlabelled"]) + 50, 50)[0]
    for number, epoch in enumerate(run.folder.read_json("history.json")["m1"]):
        weight = (epoch["loss"] - epoch["reconstruction"]) / epoch["kl_z"]
        low, high = (
            min(1.0, step / (2 * steps)) for step in (number * steps, (number + 1) * steps)
        )
        assert low - 1e-3 <= weight <= high + 1e-3
        assert epoch["val_loss"] == pytest.approx(epoch["val_reconstruction"] + epoch["val_kl_z"])


@pytest.mark.parametrize("labelled_rows", [20, 300])
def test_an_epoch_on_labels_alone_is_one_pass_over_them(labelled_rows, tmp_path):
    """1797 digits less 500 for testing and 60 for validation, whatever `m2.batch_size` is."""
    sizes = ["m2.batch_size=7", f"m2.labelled_batch_size={labelled_rows}"]
    alone = ["model=m2", "data.num_labelled=all", "m2.supervised_steps=0"]
    run = train(small(*alone, *sizes), tmp_path / "run")
    assert run.model.num_labelled == 1237
    with np.load(run.folder / "m2" / "checkpoint.npz") as state:
        counters = [state[v] for v in state.files if state[v].dtype == np.int64]
    assert 2 * math.ceil(1237 / labelled_rows) in counters


def test_truncation_starts_when_it_should(tmp_path):
    """Until then an epoch is that of full enumeration, to the last bit."""
    histories = []
    for name, top in (("full", []), ("truncated", ["m2.top_classes=2", "m2.full_enumeration=0.5"])):
        run = train(small("model=m2", "m2.epochs=4", *top), tmp_path / name)
        histories.append(run.folder.read_json("history.json")["m2"])
    full, truncated = histories
    assert full[:2] == truncated[:2]
    for one, other in zip(full[2:], truncated[2:], strict=True):
        assert one["unlabelled_loss"] != other["unlabelled_loss"]


@pytest.mark.parametrize(
    ("num_examples", "steps", "steps_per_call"),
    [(10, 1, 1), (6400, 64, 64), (49_900, 500, 50), (100_000, 1000, 50), (50_100, 504, 63)],
)
def test_an_epoch_is_whole_calls_and_covers_the_set(num_examples, steps, steps_per_call):
    assert plan_epoch(num_examples, batch_size=100) == (steps, steps_per_call)


@pytest.mark.parametrize(
    ("number", "limit", "divisor"), [(13, 64, 13), (499, 64, 1), (500, 64, 50)]
)
def test_largest_divisor(number, limit, divisor):
    assert largest_divisor(number, limit) == divisor
