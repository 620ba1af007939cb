"""The estimator's parameters as settings: those that are None are what suits the data."""

from typing import Any

import numpy as np

from tfssl.errors import expect
from tfssl.settings.reading import merged, parse_settings


def settings_of(parameters: dict[str, Any], suited: dict, labels_alone: bool, seed: int):
    """`Settings` on all points, without test points.

    Args:
      parameters: {name: value} of `SemiSupervisedClassifier`.
      suited: nested settings that suit the data.
      labels_alone: whether every point has a label.
      seed: of the experiment.
    """
    p = parameters
    names = ("latent_dim", "hidden_units", "epochs", "batch_size", "learning_rate")
    shared = {name: p[name] for name in names}
    own = {name: p[f"m1_{name}"] for name in ("latent_dim", "hidden_units", "epochs")}
    of_m2 = ("labelled_batch_size", "supervised_steps", "classification_weight")
    m2 = shared | {name: p[name] for name in of_m2}
    if labels_alone:
        m2 |= {"labelled_batch_size": p["batch_size"], "supervised_steps": 0}
    data = {"name": "X", "num_labelled": "all", "num_test": 0, "num_validation": 0}
    likelihood = _likelihood(p)
    if likelihood is not None:
        data["whitening"] = p["whitening"]
    given = {
        "model": p["model"],
        "seed": seed,
        "data": data | {"split_seed": seed},
        "m1": _given(shared) | _given(own) | _given({"classifier": p["classifier"]}),
        "m2": _given(m2) | _prior(p["class_prior"]),
        **_given({"likelihood": likelihood}),
    }
    return parse_settings(_plain(merged(suited, given)))


def _likelihood(p):
    """The one that is asked for, or that other parameters ask for; None for what suits the data."""
    if p["likelihood"] not in (None, "auto"):
        return p["likelihood"]
    if p["whitening"] is not None:
        return "gaussian"
    return "binomial" if p["levels"] is not None else None


def _prior(prior):
    """`class_prior` as the settings have it: None for a uniform one."""
    if prior is None:
        return {}
    names = ("learned", "labelled", "uniform")
    expect(
        not isinstance(prior, str) or prior in names,
        '`class_prior` must be "learned", "labelled", "uniform" or an array of probabilities',
        class_prior=prior,
    )
    return {"class_prior": None if isinstance(prior, str) and prior == "uniform" else prior}


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Settings as JSON knows them: NumPy's numbers and arrays become Python's."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
