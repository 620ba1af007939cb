"""Exported models as KServe sees them: one version answers requests, folders hold versions."""

import asyncio
import threading
import uuid
from pathlib import Path

import numpy as np
import orjson
import tensorflow as tf
from kserve import InferOutput, InferRequest, InferResponse, Model, ModelRepository
from kserve.errors import InvalidInput
from kserve.utils.numpy_codec import from_np_dtype

from tfssl.errors import InputError, expect
from tfssl.export.contract import read_ranges
from tfssl.export.versions import Version, check_name, versions
from tfssl.serving import rest


class ServedVersion(Model):
    """One version of a model, loaded."""

    def __init__(self, name, version):
        super().__init__(name)
        self.version = version.number
        # The signatures are used for as long as this object lives, and it holds the variables.
        self.loaded = tf.saved_model.load(str(version.path))
        self.inputs = read_inputs(self.loaded.signatures, read_ranges(version))
        self.ready = True

    async def predict(self, payload, *_):
        """Answer a V2 request, or the body of a V1 request: decoded, or its bytes."""
        try:
            if isinstance(payload, InferRequest):
                return await self._infer(payload)
            body = orjson.loads(payload) if isinstance(payload, bytes) else payload
            signature, arrays, in_rows = rest.read_request(body, self.inputs)
            return rest.response(await self.run(signature, arrays), in_rows)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(
                f"the request must be JSON, which has no NaN or Infinity: {error}"
            ) from None
        except (InputError, tf.errors.InvalidArgumentError) as error:
            raise InvalidInput(getattr(error, "message", str(error))) from None

    async def _infer(self, request):
        signature = (request.parameters or {}).get("signature_name", rest.DEFAULT_SIGNATURE)
        inputs = rest.find_signature(signature, self.inputs)
        columns = {i.name: _v2_array(i, inputs) for i in request.inputs}
        outputs = await self.run(signature, rest.check_inputs(columns, inputs))
        answers = []
        for name, array in outputs.items():
            answer = InferOutput(name, list(array.shape), from_np_dtype(array.dtype))
            answer.set_data_from_numpy(array, binary_data=request.use_binary_outputs)
            answers.append(answer)
        identity = request.id or str(uuid.uuid4())
        return InferResponse(identity, self.name, answers, model_version=str(self.version))

    async def run(self, signature, arrays):
        """{name: array} of the outputs, computed outside the event loop."""
        function = self.loaded.signatures[signature]

        def call():
            tensors = {name: tf.constant(array) for name, array in arrays.items()}
            return {name: tensor.numpy() for name, tensor in function(**tensors).items()}

        return await asyncio.to_thread(call)

    def get_input_types(self):
        return [
            {
                "name": i.name,
                "datatype": from_np_dtype(i.dtype),
                "shape": [-1 if n is None else n for n in i.shape],
            }
            for i in self.inputs[rest.DEFAULT_SIGNATURE].values()
        ]

    def get_output_types(self):
        outputs = self.loaded.signatures[rest.DEFAULT_SIGNATURE].structured_outputs
        return [
            {
                "name": name,
                "datatype": from_np_dtype(np.dtype(spec.dtype.as_numpy_dtype)),
                "shape": [-1 if n is None else n for n in spec.shape],
            }
            for name, spec in outputs.items()
        ]


def read_inputs(signatures, ranges):
    """{signature: {input: `rest.Input`}} of what is loaded, with the ranges of its contract."""
    return {
        name: {
            key: rest.Input(
                key,
                np.dtype(spec.dtype.as_numpy_dtype),
                tuple(spec.shape),
                *ranges.get(name, {}).get(key, (None, None)),
            )
            for key, spec in function.structured_input_signature[1].items()
        }
        for name, function in signatures.items()
    }


def _v2_array(given, inputs):
    """The array of a V2 input, in the shape that it says it has."""
    expect(
        given.name in inputs, f"the inputs must be {', '.join(sorted(inputs))}", input=given.name
    )
    wanted = from_np_dtype(inputs[given.name].dtype)
    expect(
        given.datatype == wanted,
        f"`{given.name}` must have the datatype {wanted}",
        datatype=given.datatype,
    )
    try:
        values = given.as_numpy() if given.data is None else np.asarray(given.data)
        return values.reshape(given.shape)
    except ValueError as error:
        raise InputError(f"`{given.name}` must have as many values as its shape: {error}") from None


class VersionFolders(ModelRepository):
    """The models in a folder, by "NAME" (the latest version) or "NAME/versions/V".

    Args:
      folder: where the models are.
      names: those to serve; the latest version of each is loaded at once.
    """

    def __init__(self, folder, names):
        super().__init__(str(folder))
        self._folder, self._names = Path(folder), tuple(names)
        self._loaded: dict = {}
        self._lock = threading.Lock()
        for name in names:
            check_name(name)
            found = versions(self._folder / name)
            expect(
                bool(found),
                f"{self._folder / name} must hold a version, such as {self._folder / name}/1",
                hint="Make one with `tfssl export`.",
            )
            self.get_model(name)

    def get_model(self, name):
        name, _, wanted = name.partition("/versions/")
        found = versions(self._folder / name) if name in self._names else []
        number = wanted or str((found or [None])[-1])
        if number not in map(str, found):
            return None
        with self._lock:
            if (name, number) not in self._loaded:
                version = Version(self._folder / name, int(number))
                self._loaded[name, number] = _load(name, version)
            return self._loaded[name, number]

    def get_models(self):
        return {name: self.get_model(name) for name in self._names}

    def unload(self, *_):
        raise InvalidInput("the models to serve are chosen when the server starts")

    def load(self, *_):
        raise InvalidInput("the models to serve are chosen when the server starts")


def _load(name, version):
    try:
        return ServedVersion(name, version)
    except (OSError, ValueError, KeyError, tf.errors.OpError) as error:
        raise InputError(f"cannot load {version.path}: {error}.") from None
