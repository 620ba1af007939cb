"""Every benchmark still runs, in tiny sizes; no time is looked at."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import calibration, cases, cost, ours, run, steps
from benchmarks.peers import tf_tiled

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", run.PARTS)
def test_a_part_runs(part, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # workers are modules of it
    arguments = ["--tiny", "--only", part, "--output", str(tmp_path)]
    run.main([*arguments, "--peers-python", str(tmp_path / "none")])
    written = json.loads((tmp_path / f"{part}.json").read_text())
    assert written["result"]
    assert written["machine"]["versions"]["tensorflow"]


def test_the_cost_is_drawn_beside_the_claim(tmp_path):
    """C_M1 = 1 ms: the claim is L ms; the stack costs C_M1 and what M2 takes on z1."""

    def row(model, num_classes, median):
        quartiles = [0.9 * median, 1.2 * median]
        return {
            "model": model,
            "num_classes": num_classes,
            "median": median,
            "quartiles": quartiles,
        }

    result = [row("m1", None, 1e-3)]
    for k in (2, 10):
        result += [row("m2", k, 0.5e-3 * k), row("m2_on_z1", k, 0.1e-3 * k)]
    (axes,) = cost.draw(result).get_axes()
    lines = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) == 2]
    curves = [line for line in lines if list(line[:, 0]) == [2, 10]]
    for expected in ([2, 10], [1, 5], [1.2, 2]):
        assert any(np.allclose(line[:, 1], expected) for line in curves), expected
    (tmp_path / "cost.json").write_text(json.dumps({"result": result}))
    cost.main(tmp_path / "cost.json", tmp_path / "new" / "cost.png")
    assert (tmp_path / "new" / "cost.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", cases.CASES)
def test_we_compute_what_a_tiled_step_computes(name):
    """The peers' loss, written independently, on the same weights and noise."""
    case = cases.tiny(cases.CASES[name])
    weights, data, noise = cases.weights(case, 0), cases.data(case, 0), cases.fixed_noise(case, 0)
    losses = {m.__name__: m.make(case, weights, data).loss(noise) for m in (ours, tf_tiled)}
    steps.check_losses(name, losses)


def test_different_losses_are_not_timed():
    with pytest.raises(RuntimeError, match="loss of peer"):
        steps.check_losses("case", {"tfssl": {"loss": 1.0}, "peer": {"loss": 1.001}})


def test_useful_flops_of_one_matrix_product():
    """M1 with one hidden layer: 2 m n k a product, the first without a gradient to x."""
    case = cases.Case("one", "m1", 7, (5,), 3, "bernoulli", 0, 10)
    products = 2 * (7 * 5) + 3 * (5 * 6) + 3 * (3 * 5) + 3 * (5 * 7)
    np.testing.assert_equal(cases.useful_flops(case), 2 * 10 * products)


def test_comparison_of_a_device_with_keras():
    from benchmarks.device_worker import comparison

    expected = np.array([[0.6, 0.4, 0.0], [0.45, 0.0, 0.55], [0.0, 1.0, 0.0]])
    found = np.array([[0.6, 0.4, 0.0], [0.51, 0.0, 0.49], [0.0, 0.9, 0.1]])
    result = comparison(found, expected, np.array([0, 2, 0]))
    assert result["error"] == pytest.approx(2 / 3)
    assert result["labels_changed"] == 1
    assert result["changed_lead"] == pytest.approx(0.1)
    assert result["largest_difference"] == pytest.approx(0.1)
    assert result["mean_difference"] == pytest.approx((0.0 + 0.06 + 0.1) / 3)


@pytest.mark.parametrize("model", calibration.METHODS)
def test_calibration_is_measured_on_test_points(model, tmp_path):
    tiny = ("m1.epochs=2", "m2.epochs=2", "m1.hidden_units=[10]", "m2.hidden_units=[10]")
    result = calibration.measure(tmp_path / "run", model, 3, (*tiny, "data.num_test=300"))
    stored = json.loads((tmp_path / "run" / "metrics.json").read_text())["test"]
    assert result["before"] == {key: stored[key] for key in result["before"]}
    assert result["after"]["error"] == result["before"]["error"]
    assert result["after"]["log_loss"] != result["before"]["log_loss"]
    fitted_on = {"m1": ("labelled", 50), "m2": ("validation", 200)}
    assert (result["calibration"]["fitted_on"], result["calibration"]["points"]) == fitted_on[model]
