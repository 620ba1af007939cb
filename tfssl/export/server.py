"""Exported models over HTTP: KServe on the version folders.

  POST /v1/models/NAME:predict, /v1/models/NAME/versions/V:predict       as TF Serving's REST
  POST /v2/models/NAME/infer, /v2/models/NAME/versions/V/infer           the V2 protocol
  GET  /v1/models, /v1/models/NAME, /v2/health/ready, /v2/models/NAME, /metrics

Without a version the largest number in the model's folder answers; it is looked up at every
request, so a newly exported version takes over without a restart. Bad requests are answered with a
4xx and {"error": message}.
"""

import asyncio
import contextlib
import socket
import sys
import threading
import uuid
import warnings
from pathlib import Path

import numpy as np
import orjson
import tensorflow as tf
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from tfssl.errors import InputError, expect
from tfssl.export import rest
from tfssl.export.versions import Version, check_name, versions
from tfssl.files import read_json

APP = "kserve.model_server:app"
MOST_DROPPED = 2**28


@contextlib.contextmanager
def _own_arguments():
    """Hide the command line from KServe, which reads it when it is imported."""
    saved, sys.argv = sys.argv, sys.argv[:1]
    try:
        yield
    finally:
        sys.argv = saved


with _own_arguments():
    from kserve import InferOutput, InferRequest, InferResponse, Model, ModelRepository
    from kserve.errors import InvalidInput, ModelNotFound
    from kserve.model_server import app
    from kserve.protocol.dataplane import DataPlane
    from kserve.protocol.model_repository_extension import ModelRepositoryExtension
    from kserve.protocol.rest.server import RESTServer
    from kserve.protocol.rest.v1_endpoints import V1Endpoints
    from kserve.protocol.rest.v2_datamodels import InferenceRequest
    from kserve.protocol.rest.v2_endpoints import V2Endpoints
    from kserve.utils.numpy_codec import from_np_dtype


class ServedVersion(Model):
    """One version of a model, loaded."""

    def __init__(self, name, version):
        super().__init__(name)
        self.version = version.number
        # The signatures are used for as long as this object lives, and it holds the variables.
        self.loaded = tf.saved_model.load(str(version.path))
        self.inputs = read_inputs(self.loaded.signatures, version.card / "card.json")
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


def read_inputs(signatures, card):
    """{signature: {input: `rest.Input`}}; ranges are the model card's, if there is one."""
    known = read_json(card).get("signatures", {}) if card.is_file() else {}
    known["serving_default"] = known.get("classify", {})
    found = {}
    for name, function in signatures.items():
        specs = function.structured_input_signature[1]
        found[name] = {
            key: rest.Input(
                key,
                np.dtype(spec.dtype.as_numpy_dtype),
                tuple(spec.shape),
                known.get(name, {}).get(key, {}).get("minimum"),
                known.get(name, {}).get(key, {}).get("maximum"),
            )
            for key, spec in specs.items()
        }
    return found


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


class _Requests(DataPlane):
    """KServe's, but a request that it cannot read is the client's mistake."""

    def decode(self, *args, **kwargs):
        try:
            return super().decode(*args, **kwargs)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"cannot read the request (JSON has no NaN or Infinity): {error}"
            ) from None


class BodyLimit:
    """ASGI middleware that refuses a request with a large body, and keeps none of it in memory.

    The rest of the body is read and dropped, up to `MOST_DROPPED` bytes, because a client that is
    still sending would see a broken connection and not the answer.
    """

    def __init__(self, app, limit):
        self.app, self.limit = app, limit

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        messages: list = []
        size, more = 0, True
        while more and size <= self.limit + MOST_DROPPED:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
            messages = [*messages, message] if size <= self.limit else []
        if size > self.limit:
            text = f"the body must not exceed {self.limit} bytes: send smaller batches"
            await JSONResponse({"error": text}, 413)(scope, receive, send)
            return

        async def replay():
            return messages.pop(0) if messages else await receive()

        await self.app(scope, replay, send)


def _version_routes(requests):
    """The routes with a version, which KServe leaves out."""
    v1, v2 = V1Endpoints(requests), V2Endpoints(requests)
    router = APIRouter()

    @router.post("/v1/models/{name}/versions/{version}:predict", response_model=None)
    async def predict(name: str, version: str, request: Request):
        return await v1.predict(f"{name}/versions/{version}", request)

    @router.post("/v2/models/{name}/versions/{version}/infer", response_model=None)
    async def infer(
        name: str,
        version: str,
        request: Request,
        response: Response,
        request_body: InferenceRequest | bytes,
    ):
        return await v2.infer(request, response, f"{name}/versions/{version}", request_body)

    return router


def _error(status):
    """An exception handler: the message, and no traceback in the log."""

    async def answer(_, error):
        message = str(error)
        if isinstance(error, RequestValidationError):  # its text names files of the server
            places = (".".join(map(str, e["loc"])) + ": " + e["msg"] for e in error.errors())
            message = "cannot read the request: " + "; ".join(places)
        return JSONResponse({"error": message}, status)

    return answer


def make_server(folder, names, max_bytes):
    """KServe's REST server for models in a folder; `run` it with a listening socket.

    Args:
      folder: where the models are.
      names: of the models.
      max_bytes: the largest body of a request.
    """
    # KServe's own use of FastAPI, at every request.
    warnings.filterwarnings("ignore", message="ORJSONResponse is deprecated")
    repository = VersionFolders(folder, names)
    requests = _Requests(model_registry=repository)
    app.include_router(_version_routes(requests))  # before KServe's, which answer with a 501
    app.add_middleware(BodyLimit, limit=max_bytes)
    server = RESTServer(APP, requests, ModelRepositoryExtension(repository), http_port=0)
    server.create_application()
    for kind, status in ((InvalidInput, 400), (ModelNotFound, 404), (RequestValidationError, 400)):
        app.add_exception_handler(kind, _error(status))
    return server


def listen(host, port):
    """A listening socket; port 0 takes a free one."""
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"cannot listen on {host}:{port}: {error}.") from None


def run(server, listener):
    """Answer requests until interrupted."""
    server._server.run(sockets=[listener])
