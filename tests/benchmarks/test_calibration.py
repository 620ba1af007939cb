"""What calibration changes, in tiny sizes."""

import json

import pytest

from benchmarks.quality import calibration


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
