"""The MLP: equal to a layer over the concatenation, broadcasting, seeds, serialisation."""

import numpy as np
import pytest

from tfssl.errors import InputError
from tfssl.models.networks import MLP


def softplus(x):
    return np.logaddexp(0, x)


def test_condition_equals_a_layer_over_the_concatenation(rng):
    mlp = MLP(4, (6, 5), condition_dim=3, seed=2)
    x, y = rng.normal(size=(7, 4)), rng.normal(size=(7, 3))
    (w_x, b_1), (w_2, b_2) = (layer.get_weights() for layer in mlp.linears)
    (w_y,) = mlp.condition_linear.get_weights()
    hidden = softplus(np.concatenate([x, y], axis=1) @ np.concatenate([w_x, w_y]) + b_1)
    np.testing.assert_allclose(mlp(x, y), softplus(hidden @ w_2 + b_2), rtol=1e-4)


def test_every_class_at_once_equals_one_class_at_a_time(rng):
    mlp = MLP(4, (6,), condition_dim=3)
    x = rng.normal(size=(7, 4)).astype(np.float32)
    together = mlp(x[:, np.newaxis], np.eye(3, dtype=np.float32))
    assert together.shape == (7, 3, 6)
    for k in range(3):
        y = np.tile(np.eye(3, dtype=np.float32)[k], (7, 1))
        np.testing.assert_allclose(together[:, k], mlp(x, y), rtol=1e-5)


def test_seeds_decide_the_weights_and_layers_differ():
    first, same, other = MLP(4, (4, 4), seed=1), MLP(4, (4, 4), seed=1), MLP(4, (4, 4), seed=2)
    for a, b, c in zip(first.get_weights(), same.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.ndim == 1 or np.abs(a - c).max() > 0.1
    assert np.abs(first.get_weights()[0] - first.get_weights()[2]).max() > 0.1


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_a_class_index_is_its_one_hot_vector(activation, rng):
    mlp = MLP(4, (6, 5), condition_dim=3, activation=activation, seed=2)
    x, classes = rng.normal(size=(7, 4)).astype(np.float32), rng.integers(0, 3, 7)
    one_hot = np.eye(3, dtype=np.float32)[classes]
    np.testing.assert_allclose(mlp(x, classes), mlp(x, one_hot), rtol=1e-5, atol=1e-6)


def test_initial_weights_have_variance_one_over_fan_in():
    weights = MLP(500, (400,)).linears[0].get_weights()[0]
    np.testing.assert_allclose(weights.std(), np.sqrt(1 / 500), rtol=0.02)


def test_config_round_trip():
    mlp = MLP(4, (6, 5), condition_dim=3, activation="relu", seed=2)
    copy = MLP.from_config(mlp.get_config())
    for a, b in zip(mlp.get_weights(), copy.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("hidden_units", [(), (0,), (-3,), (2.5,)])
def test_bad_hidden_units_are_refused(hidden_units):
    with pytest.raises(InputError, match="`hidden_units` must be a non-empty sequence"):
        MLP(4, hidden_units)
