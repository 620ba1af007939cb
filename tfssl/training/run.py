"""Settings in, a run folder out: load, split, fit, evaluate, save."""

import contextlib
from typing import Any

import numpy as np
import tensorflow as tf

from tfssl.data.experiment import Experiment
from tfssl.errors import InputError, expect
from tfssl.models import M1
from tfssl.runs.evaluation import (
    bounds,
    class_probabilities,
    classification_metrics,
    likelihood_metrics,
)
from tfssl.runs.folder import RunFolder, TrainedRun, save_classifier
from tfssl.storage.files import write_json
from tfssl.training.strategy import make_strategy, per_replica
from tfssl.training.trainer import Trainer


def train(settings, run_dir, resume=False, source=None):
    """Run one experiment and return its `TrainedRun`.

    Args:
      settings: `Settings`.
      run_dir: the run folder, new, or an interrupted one with `resume`.
      resume: continue an interrupted run; a finished one is returned as it is.
      source: a `Source` to use instead of the one the settings name.
    """
    preprocessing, m1_run = None, None
    if resume:
        folder = RunFolder.open(run_dir)
        folder.check_settings(settings)
        if folder.is_finished:
            return TrainedRun(folder.path)
        preprocessing = folder.preprocessing()
    if settings.m1.run is not None:
        m1_run = TrainedRun(settings.m1.run)
        preprocessing = m1_run.preprocessing
    experiment = Experiment.prepare(settings, source, preprocessing)
    strategy = make_strategy(settings.device.strategy)
    check_batch_sizes(settings, strategy)
    m1 = None if m1_run is None else reuse_m1(m1_run, experiment)
    if not resume:
        folder = RunFolder.create(run_dir, settings, m1)
    else:
        if (folder / "split.npz").exists():
            folder.check_split(experiment.split.rows)
        if m1 is not None:
            folder.check_m1(m1)
    with folder.working():
        if not folder.is_finished:  # by another process, since this one looked
            _run(experiment, strategy, folder, m1)
    return TrainedRun(folder.path)


def _run(experiment, strategy, folder, m1):
    """Train an `Experiment`, evaluate it and fill its `RunFolder`."""
    folder.save_arrays("split.npz", **experiment.split.rows)
    folder.save_arrays(
        "preprocessing.npz",
        class_names=np.array(experiment.source.class_names),
        **experiment.preprocessing.arrays(),
    )
    if experiment.source.schema is not None:
        write_json(folder / "schema.json", experiment.source.schema)
    trainer = Trainer(experiment, strategy, folder)
    with refusals(folder.path):
        model, classifier = trainer.run(m1)
    folder.save_model("model.keras", model)
    if classifier is not None:
        save_classifier(folder / "classifier.skops", classifier)
    trainer.write_latents(model, classifier)
    write_json(folder / "history.json", trainer.history)
    metrics = evaluate_experiment(experiment, model, classifier)
    if trainer.selected is not None and trainer.selected.epoch is not None:
        metrics["selected"] = evaluate_selected(experiment, model, trainer.selected)
    write_json(folder / "metrics.json", metrics)
    folder.write_status("finished", experiment.settings.seed, trainer.seconds, model)


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


def check_batch_sizes(settings, strategy):
    """Fail early if a batch cannot be shared out among the devices."""
    per_replica(settings.m1.batch_size, strategy, "m1.batch_size")
    per_replica(settings.m2.batch_size, strategy, "m2.batch_size")
    per_replica(settings.m2.labelled_batch_size, strategy, "m2.labelled_batch_size")


def reuse_m1(run, experiment):
    """The M1 of a `TrainedRun`, for an experiment that has this run's preprocessing."""
    m1: Any = getattr(run.model, "m1", run.model)
    path, other = run.folder.path, run.settings.m1.run
    expect(isinstance(m1, M1), f"m1.run must be a run of m1 or m1m2, {path} is not")
    expect(other is None, f"m1.run must be the run that trained the M1: {other}", m1_run=str(path))
    learned = _view(run.settings, run.preprocessing.levels)
    wanted = _view(experiment.settings, experiment.source.levels)
    expect(
        learned == wanted,
        f"the M1 of {path} must see its inputs as these settings want them seen",
        m1=learned,
        settings=wanted,
    )
    if run.settings.data.name == experiment.settings.data.name:
        _check_unseen(run.folder, experiment)
    return m1


def _check_unseen(folder, experiment):
    """Fail if the M1 of a run has learned from points that the experiment holds out."""
    rows, learned = experiment.split.rows, folder.split_rows()
    held_out = rows["validation"]
    if not len(experiment.source.x_test):  # else test rows are those of another array
        held_out = np.concatenate([held_out, rows["test"]])
    seen = np.isin(held_out, np.concatenate([learned["labelled"], learned["unlabelled"]]))
    expect(
        not seen.any(),
        f"the M1 of {folder.path} must not have learned from validation or test points",
        hint="Give both runs the same data.validation_seed and num_validation: their splits then "
        "differ in the labels only.",
        learned_from=int(seen.sum()),
        held_out=len(seen),
    )


def _view(settings, levels):
    """What decides how a model sees its inputs, but for what is fitted to them."""
    data = settings.data
    return {
        "likelihood": settings.likelihood,
        "levels": levels,
        "downsample": data.downsample,
        "whitening": data.whitening,
    }


def estimate_likelihood(experiment, model, part, num_points, num_samples, seed=0, progress=iter):
    """Likelihood metrics of a trained model, with the settings of the estimate.

    Args:
      experiment: an `Experiment`.
      model: M1, M2 or StackedM1M2.
      part: "test" or "validation".
      num_points: how many points to score, drawn at random by `seed`; all if there are fewer.
      num_samples, seed, progress: as in `likelihoods.weight_means`.
    """
    parts = experiment.split
    x, label = {
        "validation": (parts.x_validation, parts.label_validation),
        "test": (parts.x_test, parts.label_test),
    }[part]
    expect(len(x) >= 2, f"the run must have at least two {part} points", points=len(x))
    # Data sets have an order: the first half of MNIST's test images is the easier one.
    rows = np.random.default_rng(seed).permutation(len(x))[:num_points]
    estimate = {"part": part, "points": len(rows), "samples": num_samples, "seed": seed}
    return estimate | likelihood_metrics(
        model, experiment.preprocessing, x[rows], label[rows], num_samples, seed, progress
    )


def evaluate_experiment(experiment, model, classifier):
    """Validation and test metrics of a trained model, as nested dictionaries."""
    parts, preprocessing = experiment.split, experiment.preprocessing
    metrics = {
        "labels": {
            "training": len(parts.label),
            "model_selection": len(parts.label_validation),
        }
    }
    sets = {
        "validation": (parts.x_validation, parts.label_validation),
        "test": (parts.x_test, parts.label_test),
    }
    for name, (x, label) in sets.items():
        if not len(x):
            continue
        probabilities = class_probabilities(model, classifier, preprocessing, x)
        metrics[name] = classification_metrics(probabilities, label)
        num_classes = experiment.source.num_classes
        metrics[name]["bounds"] = bounds(model, preprocessing, x, label, num_classes)
    return metrics


def evaluate_selected(experiment, model, selected):
    """The metrics of the weights with the lowest validation error, and their epoch.

    The validation error among them is a minimum over the epochs, so it flatters.
    """
    chosen = model.without_optimizer()
    weights = getattr(chosen, "m2", chosen).trainable_variables
    for variable, value in zip(weights, selected.weights, strict=True):
        variable.assign(value)
    metrics = evaluate_experiment(experiment, chosen, None)
    del metrics["labels"]
    return {"epoch": selected.epoch, **metrics}
