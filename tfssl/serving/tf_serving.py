"""What TF Serving needs beside the models: which to serve, how to batch, how to start it.

models.config     the models and their folders, for --model_config_file
batching.config   for --batching_parameters_file
compose.yaml      for `docker compose up`
docker-run.sh     the same as one command
"""

import json
import os
import shlex
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tfssl.errors import InputError, expect
from tfssl.export.versions import check_name, versions
from tfssl.storage.files import atomic_path

IMAGE = "tensorflow/serving"
# Where the container sees the models, and these files.
MODELS, CONFIG = "/models", "/config"
REST_PORT, GRPC_PORT = 8501, 8500

BATCHING = """\
max_batch_size {{ value: 128 }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
num_batch_threads {{ value: {threads} }}
"""

COMPOSE = """\
services:
  tensorflow-serving:
    image: {image}
    command:
{arguments}
    ports:
      - "127.0.0.1:{rest}:{rest}"
      - "127.0.0.1:{grpc}:{grpc}"
    volumes:
      - {models_volume}
      - {config_volume}
    restart: unless-stopped
"""


def write_serving_config(folder, names, to, image=IMAGE):
    """Write the files; those of the same names are replaced.

    Args:
      folder: where the models are.
      names: of the models.
      to: the folder to write to.
      image: TF Serving's container image.

    Returns:
      written: paths of the files.
      command: the `docker run` line.
    """
    folder, to = Path(folder).resolve(), Path(to).resolve()
    for name in names:
        check_name(name)
        expect(
            bool(versions(folder / name)),
            f"{folder / name} must hold a version, such as {folder / name}/1",
            hint="Make one with `tfssl export`.",
        )
    expect(len(set(names)) == len(names), "the models must have different names", names=names)
    command = docker_run(folder, to, image)
    texts = {
        "models.config": models_config(names),
        "batching.config": BATCHING.format(threads=os.cpu_count()),
        "compose.yaml": compose(folder, to, image),
        "docker-run.sh": f"#!/bin/sh\nexec {command}\n",
    }
    try:
        to.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with atomic_path(to / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
        (to / "docker-run.sh").chmod(0o755)
    except OSError as error:
        raise InputError(f"cannot write {to}: {error.strerror}.") from None
    return [to / name for name in texts], command


def models_config(names):
    """The models, by name, each with all its versions; requests without one get the latest."""
    config = model_server_config_pb2.ModelServerConfig()
    for name in names:
        model = config.model_config_list.config.add(
            name=name, base_path=f"{MODELS}/{name}", model_platform="tensorflow"
        )
        model.model_version_policy.all.SetInParent()
    return text_format.MessageToString(config)


def arguments():
    """Of tensorflow_model_server."""
    return [
        f"--model_config_file={CONFIG}/models.config",
        "--enable_batching",
        f"--batching_parameters_file={CONFIG}/batching.config",
    ]


def compose(folder, to, image):
    return COMPOSE.format(
        image=image,
        arguments="\n".join(f"      - {argument}" for argument in arguments()),
        rest=REST_PORT,
        grpc=GRPC_PORT,
        models_volume=_quoted(f"{folder}:{MODELS}:ro"),
        config_volume=_quoted(f"{to}:{CONFIG}:ro"),
    )


def _quoted(text):
    """A YAML string: JSON's rules are YAML's. A $ would be a variable to compose."""
    return json.dumps(text.replace("$", "$$"))


def docker_run(folder, to, image):
    """The command that starts TF Serving on the models, for this machine only (loopback)."""
    parts = ["docker", "run", "--rm"]
    for port in (REST_PORT, GRPC_PORT):
        parts += ["-p", f"127.0.0.1:{port}:{port}"]
    parts += ["-v", f"{folder}:{MODELS}:ro", "-v", f"{to}:{CONFIG}:ro", image]
    return shlex.join([*parts, *arguments()])
