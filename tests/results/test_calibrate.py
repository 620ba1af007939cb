"""When a run is calibrated: by training or by `tfssl calibrate`, and by nothing else."""

import json

from tfssl.runs.temperature import FILE


def test_validation_points_come_first(table_run, call):
    code, output, error = call("calibrate", table_run)
    assert code == 0, error
    stored = json.loads((table_run / FILE).read_text())
    assert (stored["fitted_on"], stored["points"], stored["folds"]) == ("validation", 20, None)
    assert "from 20 validation points" in " ".join(output.split())


def test_m2_is_cross_fitted_if_asked_to(table_run, call):
    code, _, error = call("calibrate", table_run, "--on", "labelled", "--folds", 2)
    assert code == 0, error
    stored = json.loads((table_run / FILE).read_text())
    assert (stored["fitted_on"], stored["points"], stored["folds"]) == ("labelled", 10, 2)


def test_validation_points_must_be_there(image_run, call):
    code, _, error = call("calibrate", image_run, "--on", "validation")
    assert (code, "must have validation points" in error) == (2, True)
