"""Exported models over HTTP: KServe on the version folders.

  POST /v1/models/NAME:predict, /v1/models/NAME/versions/V:predict       as TF Serving's REST
  POST /v2/models/NAME/infer, /v2/models/NAME/versions/V/infer           the V2 protocol
  GET  /v1/models, /v1/models/NAME, /v2/health/ready, /v2/models/NAME, /metrics

Without a version the largest number in the model's folder answers; it is looked up at every
request, so a newly exported version takes over without a restart. Bad requests are answered with a
4xx and {"error": message}.
"""

import socket
import warnings

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from kserve.errors import InvalidInput, ModelNotFound
from kserve.model_server import app
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.model_repository_extension import ModelRepositoryExtension
from kserve.protocol.rest.server import RESTServer
from kserve.protocol.rest.v1_endpoints import V1Endpoints
from kserve.protocol.rest.v2_datamodels import InferenceRequest
from kserve.protocol.rest.v2_endpoints import V2Endpoints

from tfssl.errors import InputError
from tfssl.serving.models import VersionFolders

APP = "kserve.model_server:app"
MOST_DROPPED = 2**28


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
    # Not `server.run`: it would put KServe's routes and error handlers in again, after ours.
    server._server.run(sockets=[listener])
