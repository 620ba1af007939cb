"""The two kinds of job: train a model, fit a baseline."""

from tfssl.settings import dump_settings, with_changes


def run_model(settings, run_dir, record):
    """Train one model, or go on with its training, and give its result."""
    from tfssl.choice.run import train
    from tfssl.runs.opened import experiment_of
    from tfssl.runs.provenance import m1_digest

    trained = train(settings, run_dir, resume=run_dir.exists())
    run = trained.folder.read_json("run.json")
    return {
        **record,
        "data": settings.data.name,
        "training_seconds": run["seconds"],
        **trained.folder.read_json("metrics.json"),
        "overlap": experiment_of(trained).test_overlap,
        "m1": m1_digest(trained.model),
        "versions": run["versions"],
        "git_revision": run["git_revision"],
    }


def model_settings(settings):
    """The `Job.settings` of a model: where a shared M1 lies on this disk is none of them."""
    return dump_settings(with_changes(settings, m1={"run": None}))


def baseline_settings(settings):
    """The `Job.settings` of a baseline: it sees images as they are."""
    dumped = dump_settings(settings)
    del dumped["data"]["max_shift"]
    return {name: dumped[name] for name in ("seed", "likelihood", "data")}


def run_baseline(name, settings, record, shared):
    """Fit one baseline and give its result."""
    from tfssl.data.experiment import Experiment
    from tfssl.paper import baselines
    from tfssl.runs.metrics import classification_metrics
    from tfssl.runs.provenance import git_revision, versions

    experiment = Experiment.prepare(settings)
    predict = baselines.fit(name, experiment, cache=shared)
    parts = experiment.split
    metrics = {
        part: classification_metrics(predict(x), label)
        for part, x, label in (
            ("validation", parts.x_validation, parts.label_validation),
            ("test", parts.x_test, parts.label_test),
        )
        if len(x)
    }
    return {
        **record,
        "data": settings.data.name,
        "labels": {"training": len(parts.label), "model_selection": 0},
        "overlap": experiment.test_overlap,
        **metrics,
        "versions": versions(),
        "git_revision": git_revision(),
    }
