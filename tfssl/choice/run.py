"""Settings in, a run folder out, whatever they ask for: a model by name, or the choice."""

import functools

from tfssl.blends.files import save_blend
from tfssl.choice.choose import Watch, choose
from tfssl.choice.kept import KeptEvidence
from tfssl.choice.pool import Pool
from tfssl.choice.words import as_record
from tfssl.runs.evaluation import evaluate
from tfssl.runs.trained import RECORD, blend_probabilities
from tfssl.settings import with_changes
from tfssl.storage.files import write_json
from tfssl.training import run
from tfssl.training.sequence import fit_experiment


def train(settings, run_dir, resume=False, source=None, draw=None, watch=None):
    """Run one experiment and return its `TrainedRun`.

    Args:
      settings, run_dir, resume, source, draw: as in `tfssl.training.run.train`.
      watch: a `Watch`: who looks on while candidates are compared, or None.
    """
    fill = None
    if settings.model == "auto":
        fill = functools.partial(fill_with_choice, watch=watch or Watch())
    return run.train(settings, run_dir, resume, source, draw, fill)


def fill_with_choice(experiment, place, m1, watch):  # noqa: ARG001
    """Compare, fit the answer and write it into the `RunFolder`: an M2 or None, seconds."""
    folder, settings = place.folder, experiment.settings
    kept = KeptEvidence(folder / "evidence")
    choice = choose(Pool.of(experiment), settings.auto.budget, kept.beside(watch))
    save_blend(folder / "blend", choice.blend)
    write_json(folder / RECORD, as_record(choice, experiment.source.class_names))
    model, seconds, history = None, {"choice": round(choice.seconds, 1)}, {}
    if settings.auto.with_generative:
        named = with_changes(settings, model="m2")
        trained = fit_experiment(experiment.with_settings(named), place)
        model = trained.model
        folder.save_model("model.keras", model)
        history = {name: fitted.history for name, fitted in trained.fitted.items()}
        seconds |= {name: fitted.seconds for name, fitted in trained.fitted.items()}
    write_json(folder / "history.json", history)
    predict = functools.partial(blend_probabilities, choice.blend, experiment.preprocessing)
    write_json(folder / "metrics.json", evaluate(experiment, predict, model))
    return model, seconds
