"""The real server, KServe, on exported models: everything goes through HTTP."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from benchmarks.shipping import serving

LIMIT = 2**20


@pytest.fixture(scope="module")
def folder(exported, tmp_path_factory):
    """Two models: m1 with the versions 1 and 2, and m2 with the version 1, which has no contract.

    Before there was one, its inputs stood in the card.
    """
    folder = tmp_path_factory.mktemp("served") / "saved_models"
    shutil.copytree(exported("model=m1").model_dir, folder / "first")
    for kind in ("first", "first/cards"):
        shutil.copytree(folder / kind / "1", folder / kind / "2")
    shutil.copytree(exported("model=m2").model_dir, folder / "second")
    older = folder / "second" / "cards" / "1"
    signatures = json.loads((older / "contract.json").read_text())["signatures"]
    del signatures["serving_default"]
    inputs = {name: sides["inputs"] for name, sides in signatures.items()}
    card = json.loads((older / "card.json").read_text())
    (older / "card.json").write_text(json.dumps(card | {"signatures": inputs}))
    (older / "contract.json").unlink()
    return folder


@pytest.fixture(scope="module")
def server(folder):
    """The address of `tfssl serve first second`."""
    command = [sys.executable, "-m", "tfssl.cli", "serve", "first", "second"]
    command += ["--from", str(folder), "--port", "0", "--max-megabytes", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("serving first: http://127.0.0.1:"), line
            address = line.split(": ", 1)[1].split("/v1/")[0]
            _wait_until_ready(address)
            yield address
            assert process.poll() is None, "the server has died"
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_ready(address, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(f"{address}/v2/health/ready", timeout=5).read()
        except OSError:
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)


def call(address, path, body=None, content_type="application/json"):
    """(status, decoded JSON); a body that is not bytes is sent as JSON."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": content_type})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def predict(address, body, model="first", **options):
    return call(address, f"/v1/models/{model}:predict", body, **options)


@pytest.mark.parametrize(("name", "model"), [("first", "m1"), ("second", "m2")])
def test_answers_are_those_of_the_run(server, trained, digits, name, model):
    expected = trained(f"model={model}").calibrated_probabilities(digits)
    status, answer = predict(server, {"instances": digits.tolist()}, name)
    assert status == 200
    rows = answer["predictions"]
    found = np.array([row["probabilities"] for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert [row["label"] for row in rows] == found.argmax(axis=1).tolist()
    assert [row["label_name"] for row in rows] == [str(k) for k in found.argmax(axis=1)]


def test_columns_give_columns(server, digits):
    body = {"signature_name": "encode", "inputs": {"x": digits[:3].tolist()}}
    status, answer = predict(server, body)
    assert status == 200
    assert np.shape(answer["outputs"]["loc"]) == (3, 6)
    body = {"signature_name": "decode", "inputs": answer["outputs"]["loc"]}
    pixels = predict(server, body)[1]["outputs"]
    body = {"signature_name": "reconstruct", "instances": digits[:3].tolist()}
    np.testing.assert_allclose(pixels, predict(server, body)[1]["predictions"], atol=1e-5)


def test_several_inputs_are_named(server):
    rows = [{"y": 3, "noise": [0.1, 0.2, 0.3]}, {"y": 4, "noise": [0.0, 0.0, 0.0]}]
    status, answer = predict(server, {"signature_name": "generate", "instances": rows}, "second")
    assert status == 200
    assert np.shape(answer["predictions"]) == (2, 8, 8)


def test_curl_sends_no_json_header_and_is_understood(server, digits):
    form = "application/x-www-form-urlencoded"
    body = {"instances": digits[:1].tolist()}
    assert predict(server, body, content_type=form) == predict(server, body)


def test_versions_and_new_ones_without_a_restart(server, folder, digits):
    body = {"instances": digits[:1].tolist()}
    latest = predict(server, body)[1]
    for number in (1, 2):
        path = f"/v1/models/first/versions/{number}:predict"
        assert call(server, path, body) == (200, latest)
    path = "/v1/models/first/versions/3:predict"
    assert call(server, path, body)[0] == 404
    for kind in ("first/cards", "first"):
        shutil.copytree(folder / kind / "2", folder / kind / "3")
    assert call(server, path, body) == (200, latest)


def test_the_v2_protocol(server, trained, digits):
    values = {
        "name": "x",
        "shape": [30, 8, 8],
        "datatype": "UINT8",
        "data": digits.ravel().tolist(),
    }
    for path in ("/v2/models/second/infer", "/v2/models/second/versions/1/infer"):
        status, answer = call(server, path, {"id": "a", "inputs": [values]})
        assert status == 200
        assert answer["id"] == "a"
        assert answer["model_version"] == "1"
        outputs = {output["name"]: output for output in answer["outputs"]}
        found = np.reshape(outputs["probabilities"]["data"], outputs["probabilities"]["shape"])
        expected = trained("model=m2").probabilities(digits)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert outputs["label_name"]["data"] == [str(k) for k in found.argmax(axis=1)]
    body = {"inputs": [values], "parameters": {"signature_name": "encode"}}
    names = {o["name"] for o in call(server, "/v2/models/second/infer", body)[1]["outputs"]}
    assert names == {"loc", "scale", "label"}
    metadata = call(server, "/v2/models/second")[1]
    assert metadata["inputs"] == [{"name": "x", "datatype": "UINT8", "shape": [-1, 8, 8]}]


def image(value):
    return [[value] * 8] * 8


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"instances": [', "unexpected end"),
        (b"[1, 2]", "must be a JSON object"),
        ({}, 'either "instances"'),
        ({"instances": []}, "at least one"),
        ({"instances": 3}, "list"),
        ({"instances": [image(1)], "signature": "classify"}, "unknown=\\['signature'\\]"),
        (
            {"instances": [[1, 2]]},
            r"must have the shape \[any, 8, 8\]. Received: shape=\[1, 2\]",
        ),
        ({"instances": [[*image(1)[:-1], [1]]]}, "equal lengths"),
        ({"instances": [image(0.5)]}, "must be integers.*dtype='float64'"),
        ({"instances": [image("1")]}, "must be integers"),
        ({"instances": [image(None)]}, "must be integers"),
        ({"instances": [image(17)]}, "between 0 and 16"),
        ({"instances": [image(-1)]}, "between 0 and 16"),
        ({"instances": [{"y": image(1)}]}, "must have the inputs x"),
        ({"signature_name": "classify_float", "instances": [image(float("nan"))]}, "NaN"),
        ({"signature_name": "classify_float", "instances": [image(1e300)]}, "finite"),
        ({"signature_name": "classify_float", "instances": [image(1.5)]}, "between 0 and 1"),
        ({"signature_name": "nonsense", "instances": [image(1)]}, "must be one of classify, "),
        ({"signature_name": "log_likelihood", "instances": [image(1)]}, "by their names: noise, x"),
    ],
)
def test_bad_requests_get_a_clear_400(server, body, message):
    status, answer = predict(server, body)
    assert status == 400
    assert re.search(message, answer["error"]), answer
    assert predict(server, {"instances": [image(1)]})[0] == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datatype": "FP32"}, "must have the datatype UINT8"),
        ({"datatype": "NONSENSE"}, "must have the datatype UINT8"),
        ({"shape": [2, 8, 8]}, "as many values"),
        ({"shape": [64]}, "must have the shape"),
        ({"name": "image"}, "the inputs must be x"),
        ({"data": [300] * 64}, "between 0 and 16"),
        ({"data": "nonsense"}, "."),
        ({"data": None}, "."),
    ],
)
def test_bad_v2_requests_get_a_clear_400(server, change, message):
    good = {"name": "x", "shape": [1, 8, 8], "datatype": "UINT8", "data": [1] * 64}
    status, answer = call(server, "/v2/models/first/infer", {"inputs": [good | change]})
    assert status == 400
    assert re.search(message, answer["error"]), answer
    assert "site-packages" not in answer["error"]
    assert call(server, "/v2/models/first/infer", {"inputs": [good]})[0] == 200


def test_a_class_that_does_not_exist(server):
    body = {"signature_name": "decode", "instances": [{"y": 10, "z": [0.0] * 3}]}
    status, answer = predict(server, body, "second")
    assert status == 400
    assert "between 0 and 9" in answer["error"]


@pytest.mark.parametrize("path", ["/v1/models/none:predict", "/v1/models/..%2Ffirst:predict"])
def test_unknown_models_are_not_found(server, path):
    assert call(server, path, {"instances": [image(1)]})[0] == 404


def test_an_oversized_body_is_refused(server):
    status, answer = predict(server, b" " * (LIMIT + 1))
    assert status == 413
    assert f"must not exceed {LIMIT} bytes" in answer["error"]
    assert predict(server, b" " * (20 * LIMIT))[0] == 413
    body = json.dumps({"instances": [image(1)]}).encode()
    assert predict(server, body + b" " * (LIMIT - len(body)))[0] == 200


def test_clients_cannot_unload_models(server):
    assert call(server, "/v2/repository/models/first/unload", {})[0] == 400
    assert call(server, "/v1/models") == (200, {"models": ["first", "second"]})


def test_the_load_benchmark_finds_no_error(server, exported):
    from tfssl.export.reference import load_reference

    reference = load_reference(exported("model=m2").card / "reference.npz")
    (row,) = serving.measure(server, "second", reference, clients=(2,), batch_sizes=(4,), seconds=1)
    assert row["errors"] == 0
    assert row["requests"] >= 2
    assert 0 < row["p50_ms"] <= row["p99_ms"]
    assert row["images_per_second"] == 4 * row["requests_per_second"] > 0
    # A wrong answer would count.
    reference["classify"][1]["label"] += 1
    (row,) = serving.measure(server, "second", reference, clients=(1,), batch_sizes=(1,), seconds=0)
    assert row["errors"] == row["requests"] == 1


def test_the_client_example_works(server, digits, tmp_path):
    np.save(tmp_path / "digits.npy", digits[:2])
    command = [sys.executable, "pipelines/client.py", f"{server}/v1/models/first:predict"]
    done = subprocess.run(
        [*command, str(tmp_path / "digits.npy")], capture_output=True, text=True, check=True
    )
    answer = predict(server, {"instances": digits[:2].tolist()})[1]["predictions"]
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        row["label_name"] for row in answer
    ]
