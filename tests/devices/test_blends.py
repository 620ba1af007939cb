"""Every kind of a blend's members on a device: builtin operations, and the answer itself."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tfssl.devices.conversion import convert
from tfssl.export.blend_graphs import blend_graph
from tfssl.export.functions import Function


@pytest.mark.parametrize("batch", [None, 1])
def test_a_device_computes_what_the_blend_does(batch, blend, pixels):
    graph = blend_graph(blend, tf.float32)
    inputs = {"x": tf.TensorSpec([None, 64], tf.float32, "x")}
    function = Function("classify", lambda x: {"p": tf.nn.softmax(graph(x))}, inputs)
    device = Interpreter(model_content=convert(function, "f32", batch))
    names = {operation["op_name"] for operation in device._get_ops_details()}
    assert not [name for name in names if name.startswith(("Flex", "Custom"))]
    x = pixels[0][600:640]
    run = device.get_signature_runner()
    size = batch or len(x)
    parts = [run(x=x[i : i + size])["p"] for i in range(0, len(x), size)]
    found, expected = np.concatenate(parts), blend(x)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert np.abs(found - expected).mean() < 1e-5  # as an export demands it
    np.testing.assert_array_equal(found.argmax(axis=1), expected.argmax(axis=1))
