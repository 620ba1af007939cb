"""Settings in, a run folder out: load, split, fit, evaluate, save."""

import contextlib

import numpy as np
import tensorflow as tf

from tfssl.classifiers.files import save_classifier
from tfssl.data.experiment import Experiment
from tfssl.errors import InputError, expect
from tfssl.runs import calibration
from tfssl.runs.evaluation import evaluate_experiment, evaluate_selected
from tfssl.runs.folder import RunFolder
from tfssl.runs.trained import EXAMPLES, NUM_EXAMPLES, TrainedRun
from tfssl.storage.files import write_json
from tfssl.training.fit import Place
from tfssl.training.refit import refitting
from tfssl.training.reuse import reuse_m1
from tfssl.training.sequence import fit_experiment
from tfssl.training.strategy import check_batch_sizes, make_strategy
from tfssl.training.tensorboard import write_latents


def train(settings, run_dir, resume=False, source=None, draw=None, fill=None):
    """Run one experiment and return its `TrainedRun`.

    Args:
      settings: `Settings`.
      run_dir: the run folder, new, or an interrupted one with `resume`.
      resume: continue an interrupted run; a finished one is returned as it is.
      source: a `Source` to use instead of the one the settings name.
      draw: what to draw for TensorBoard while it trains, as `Place` has it: `training_pictures` of
        `tfssl.pictures.of_model`, or nothing.
      fill: what fits the experiment and fills the run folder, as `fill_with_model` does and by
        default; `tfssl.choice.run` has that of model = "auto".
    """
    expect(
        fill is not None or settings.model != "auto",
        'training must be told how to choose for model = "auto"',
        hint="Use tfssl.train, which is tfssl.choice.run.train.",
    )
    preprocessing, schema, m1_run = None, None, None
    if resume:
        folder = RunFolder.open(run_dir)
        folder.check_settings(settings)
        if folder.is_finished:
            return TrainedRun(folder.path)
        preprocessing, schema = folder.preprocessing(), folder.schema()
    if settings.m1.run is not None:
        m1_run = TrainedRun(settings.m1.run)
        preprocessing, schema = m1_run.preprocessing, m1_run.folder.schema()
    experiment = Experiment.prepare(settings, source, preprocessing, schema)
    strategy = make_strategy(settings.device.strategy)
    check_batch_sizes(settings, strategy)
    m1 = None if m1_run is None else reuse_m1(m1_run, experiment)
    if not resume:
        folder = RunFolder.create(run_dir, settings, m1)
    else:
        if (folder / "split.npz").exists():
            folder.check_split(experiment.split)
        if m1 is not None:
            folder.check_m1(m1)
    with folder.working():
        if not folder.is_finished:  # by another process, since this one looked
            device, seconds = settings.device, settings.checkpoint_seconds
            place = Place(strategy, device.jit_compile, folder, seconds, draw)
            _run(experiment, place, m1, fill or fill_with_model)
    return TrainedRun(folder.path)


def _run(experiment, place, m1, fill):
    """Fill the `RunFolder` of a `Place` with an experiment, what is trained of it last."""
    folder = place.folder
    folder.save_split(experiment.split)
    folder.save_arrays(
        "preprocessing.npz",
        class_names=np.array(experiment.source.class_names),
        **experiment.preprocessing.arrays(),
    )
    folder.save_arrays(EXAMPLES, x=examples(experiment.split.x_train))
    if experiment.source.schema is not None:
        write_json(folder / "schema.json", experiment.source.schema)
    with refusals(folder.path):
        model, seconds = fill(experiment, place, m1)
    # The last file: a run without it goes on from its checkpoints and writes the others again.
    folder.write_status("finished", experiment.settings.seed, seconds, model)


def fill_with_model(experiment, place, m1):
    """Train an `Experiment`, evaluate it and write what it gave: the model, {stage: seconds}."""
    folder = place.folder
    trained = fit_experiment(experiment, place, m1)
    model, classifier = trained.model, trained.classifier
    folder.save_model("model.keras", model)
    if classifier is not None:
        save_classifier(folder / "classifier.skops", classifier)
    write_latents(folder / "tensorboard", experiment, model, classifier)
    write_json(folder / "history.json", {n: f.history for n, f in trained.fitted.items()})
    metrics = evaluate_experiment(experiment, model, classifier)
    m2 = trained.fitted.get("m2")
    if m2 is not None and m2.selected.epoch is not None:
        metrics["selected"] = evaluate_selected(experiment, model, m2.selected)
    write_json(folder / "metrics.json", metrics)
    if calibration.obstacle(experiment, model) is None:
        calibration.calibrate(experiment, model, classifier, refitting).save(folder)
    return model, {name: f.seconds for name, f in trained.fitted.items()}


def examples(x):
    """A few of the stored inputs [N, ...], the same at every call: an export is checked on them."""
    rows = np.random.default_rng(0).permutation(len(x))[:NUM_EXAMPLES]
    return np.asarray(x[np.sort(rows)])


@contextlib.contextmanager
def refusals(path):
    """What TensorFlow says when the machine has no more memory or disk, as an `InputError`."""
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError) as error:
        raise InputError(
            f"the machine has no room to train {path}: {str(error).partition(chr(10))[0]}. Take "
            "smaller networks or batches, or free memory or disk, and continue with --resume."
        ) from None
