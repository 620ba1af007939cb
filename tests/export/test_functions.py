"""What a run computes for a client, against the models' own methods."""

import copy

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tfssl.classifiers.temperature import scaled
from tfssl.export.functions import functions
from tfssl.models import importance
from tfssl.pictures import of_model
from tfssl.runs.temperature import Calibration

MODELS = ("m1", "m2", "m1m2")


@pytest.fixture(params=MODELS)
def run(request, trained):
    return trained(f"model={request.param}")


def traced(function):
    return tf.function(function.call, autograph=False).get_concrete_function(**function.inputs)


def call(run, name, **inputs):
    return {key: value.numpy() for key, value in functions(run)[name].call(**inputs).items()}


def test_every_function_is_there(run):
    given = ["classify", "encode", "decode", "generate", "reconstruct", "log_likelihood"]
    given += ["analogies"] if run.settings.model != "m1" else []
    twins = [f"{name}_float" for name in given if name not in ("decode", "generate")]
    assert set(functions(run)) == {*given, *twins}
    assert next(iter(functions(run))) == "classify"


def test_graphs_hold_plain_operations_and_any_batch(run):
    for function in functions(run).values():
        definition = traced(function).graph.as_graph_def()
        nodes = [*definition.node]
        for inner in definition.library.function:
            assert not inner.attr["_XlaMustCompile"].b, function.name
            nodes += inner.node_def
        operations = {node.op for node in nodes}
        assert not {op for op in operations if "Xla" in op or "Random" in op or "PyFunc" in op}
        assert not any(node.attr["_XlaMustCompile"].b for node in nodes)
        assert all(spec.shape[0] is None for spec in function.inputs.values())


def test_classify_is_predict(run, digits):
    found = call(run, "classify", x=digits)
    expected = run.calibrated_probabilities(digits)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    np.testing.assert_array_equal(found["label"], found["probabilities"].argmax(axis=1))
    names = [name.decode() for name in found["label_name"]]
    assert names == [run.class_names[k] for k in found["label"]]
    entropy = special.entr(expected.astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(found["entropy"], entropy, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.2, 3.0, 1e3])
def test_classify_is_calibrated_if_the_run_is(run, digits, temperature):
    run = copy.copy(run)  # the other tests have it as it is
    raw, plain = run.probabilities(digits), call(run, "classify", x=digits)
    run.calibration = Calibration(temperature, "validation", 9)
    found = call(run, "classify", x=digits)
    expected = scaled(raw, temperature)
    assert np.abs(expected - raw).max() > 0.01
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    np.testing.assert_array_equal(found["label"], plain["label"])
    np.testing.assert_allclose(found["entropy"], special.entr(expected).sum(axis=1), atol=1e-4)


def test_votes_are_calibrated_too(trained, digits):
    """1-NN: a score of minus infinity is as likely as the smallest float32."""
    run = copy.copy(trained("model=m1", "m1.classifier=knn"))
    raw = run.probabilities(digits)
    assert set(np.unique(raw)) == {0.0, 1.0}
    run.calibration = Calibration(30.0, "validation", 9)
    found = call(run, "classify", x=digits)["probabilities"]
    np.testing.assert_allclose(found, scaled(raw, 30.0), atol=1e-5)
    assert found.max() < 0.7


def test_twins_take_intensities(run, digits):
    noise = np.random.default_rng(0).standard_normal((30, 2, run.model.noise_dim), np.float32)
    for name, function in functions(run).items():
        if not name.endswith("_float"):
            continue
        others = {"noise": noise} if "noise" in function.inputs else {}
        found = call(run, name, x=(digits / 16.0).astype(np.float32), **others)
        expected = call(run, name.removesuffix("_float"), x=digits, **others)
        for key, value in expected.items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(found[key], value)


def test_reconstruct_decodes_the_code(run, digits):
    code = call(run, "encode", x=digits)
    assert (code["scale"] > 0).all()
    y = {"y": code["label"]} if "label" in code else {}
    decoded = call(run, "decode", z=code["loc"], **y)["x"]
    np.testing.assert_allclose(call(run, "reconstruct", x=digits)["x"], decoded, atol=1e-6)
    x = run.preprocessing(digits)
    expected = of_model.reconstructions(run.model, x).reshape(decoded.shape)
    np.testing.assert_allclose(decoded, expected, atol=1e-5)


@pytest.mark.parametrize("model", ["m2", "m1m2"])
def test_analogies_are_the_styles_in_every_class(trained, digits, model):
    run = trained(f"model={model}")
    found = call(run, "analogies", x=digits)["x"]
    assert found.shape == (30, 10, 8, 8)
    label = call(run, "classify", x=digits)["label"]
    expected = of_model.analogies(run.model, run.preprocessing(digits), label)
    np.testing.assert_allclose(found, expected.reshape(found.shape), atol=1e-5)
    own = found[np.arange(30), label]
    np.testing.assert_allclose(own, call(run, "reconstruct", x=digits)["x"], atol=1e-5)


def test_generate_draws_the_latents(trained):
    rng = np.random.default_rng(0)
    y = np.arange(10, dtype=np.int32)
    run = trained("model=m2")
    z = rng.standard_normal((10, 3), np.float32)
    np.testing.assert_array_equal(
        call(run, "generate", y=y, noise=z)["x"], call(run, "decode", y=y, z=z)["x"]
    )
    stack = trained("model=m1m2")
    model, noise = stack.model, rng.standard_normal((10, 3 + 6), np.float32)
    found = call(stack, "generate", y=y, noise=noise)["x"]
    p_z1 = model.m2.decode(y, noise[:, :3]).distribution
    z1, used = np.zeros((10, 6), np.float32), len(model.active)
    z1[:, model.active] = p_z1.loc + p_z1.scale * noise[:, 3 : 3 + used]
    z1[:, model.inactive] = noise[:, 3 + used :]
    expected = model.m1.generate(z1).numpy().reshape(found.shape)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_log_likelihood_is_the_importance_weighted_one(run, digits):
    model, samples = run.model, 4
    noise = np.random.default_rng(1).standard_normal((30, samples, model.noise_dim), np.float32)
    found = call(run, "log_likelihood", x=digits, noise=noise)
    x = run.preprocessing(digits)
    q = model.proposal(x)
    weights = [model.log_weights(x, q, noise[:, s]).numpy() for s in range(samples)]
    weights = np.stack(weights).reshape(samples, 30, -1).astype(np.float64)
    log_joint = special.logsumexp(weights, axis=0) - np.log(samples)
    expected = special.logsumexp(log_joint, axis=1)
    np.testing.assert_allclose(found["log_likelihood"], expected, rtol=1e-5)
    bound = importance.marginal_bound(model, x, weights.mean(axis=0))
    np.testing.assert_allclose(found["bound"], bound, rtol=1e-5)
    assert (found["bound"] <= found["log_likelihood"]).all()


def test_a_class_that_does_not_exist_is_an_error(trained):
    function = traced(functions(trained("model=m2"))["decode"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="10"):
        function(y=tf.constant([10]), z=tf.zeros([1, 3]))


def test_whitened_inputs_share_one_matrix(trained, digits):
    run = trained("model=m2", "likelihood=gaussian", "data.whitening=20")
    found = call(run, "classify", x=digits)["probabilities"]
    np.testing.assert_allclose(found, run.probabilities(digits), atol=1e-5)
    found = functions(run)
    graphs = [traced(found[name]) for name in ("classify", "encode", "decode")]
    axes = [v for graph in graphs for v in graph.variables if v.shape == (64, 20)]
    assert len(axes) == 3
    assert len({id(v) for v in axes}) == 1
    pictures = call(run, "reconstruct", x=digits)["x"]
    assert pictures.shape == (30, 8, 8)
    assert 0.0 <= pictures.min() <= pictures.max() <= 1.0


def test_features_that_are_no_images_keep_their_units(tmp_path):
    from tfssl.runs.trained import TrainedRun
    from tfssl.settings import load_settings
    from tfssl.training.run import train

    rng = np.random.default_rng(0)
    label = np.arange(200) % 2
    x = 1e6 + 3.0 * label[:, None] + rng.standard_normal((200, 4))  # float32 would round it
    np.savez(tmp_path / "points.npz", x=x, y=label)
    changes = [f"data.name={tmp_path / 'points.npz'}", "model=m2", "likelihood=gaussian"]
    changes += ["data.num_labelled=20", "data.num_test=50", "m2.epochs=2", "m2.hidden_units=[8]"]
    train(load_settings(None, changes), tmp_path / "run")
    run = TrainedRun(tmp_path / "run")
    found = functions(run)
    assert not [name for name in found if name.endswith("_float")]
    assert found["classify"].inputs["x"].dtype == tf.float64
    np.testing.assert_allclose(
        call(run, "classify", x=x)["probabilities"], run.probabilities(x), atol=1e-5
    )
    assert abs(call(run, "reconstruct", x=x)["x"].mean() - 1e6) < 10
