"""Every timing still runs, in tiny sizes; no time is looked at."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import tf_tiled
from benchmarks.speed import cases, cost, ours, startup, steps
from benchmarks.speed.__main__ import PARTS, main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_runs(part, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # workers are modules of it
    arguments = ["--tiny", "--only", part, "--output", str(tmp_path)]
    main([*arguments, "--peers-python", str(tmp_path / "none")])
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


def test_what_is_loaded_counts_for_its_package():
    log = "import time: self [us] | cumulative | imported package\n" + "\n".join(
        f"import time: {own:9d} | {all_of_it:10d} | {name}"
        for own, all_of_it, name in ((100, 100, "  a.b"), (50, 150, "a"), (7, 7, "c"))
    )
    assert startup.by_package(log) == {
        "a": (pytest.approx(1.5e-4), 2),
        "c": (pytest.approx(7e-6), 1),
    }


def test_a_start_is_timed(tmp_path):
    found = startup.main(["--rounds", "1", "--output", str(tmp_path / "startup.json")])["after"]
    assert all(found["whole"][name] > 0 for name in ("import", "first fit", "help"))
    # What a fit has no use for is not loaded for it.
    unused = {"tensorflow_datasets", "skops", "tensorboard", "kserve", "ai_edge_litert"}
    assert not unused & set(found["packages"])
    assert "tensorflow" in found["packages"]
    written = json.loads((tmp_path / "startup.json").read_text())["result"]["after"]
    assert written["whole"] == found["whole"]
    assert written["packages"]["tensorflow"] == found["packages"]["tensorflow"]
    assert len(written["packages"]) < len(found["packages"])


def test_different_losses_are_not_timed():
    with pytest.raises(RuntimeError, match="loss of peer"):
        steps.check_losses("case", {"tfssl": {"loss": 1.0}, "peer": {"loss": 1.001}})


def test_useful_flops_of_one_matrix_product():
    """M1 with one hidden layer: 2 m n k a product, the first without a gradient to x."""
    case = cases.Case("one", "m1", 7, (5,), 3, "bernoulli", 0, 10)
    products = 2 * (7 * 5) + 3 * (5 * 6) + 3 * (3 * 5) + 3 * (5 * 7)
    np.testing.assert_equal(cases.useful_flops(case), 2 * 10 * products)
