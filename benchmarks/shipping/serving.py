"""A bounded load on `tfssl serve` over loopback: throughput and latency, client and server on one
machine.

  python -m benchmarks.shipping.serving saved_models/digits    writes docs/results/serving/load.json

Each client sends its next request when it has the answer to the last one, on one connection. Any
answer but a right one counts as an error.
"""

import argparse
import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks.machine import ROOT, machine
from tfssl.export.reference import load_reference
from tfssl.export.versions import Version
from tfssl.storage.files import write_json

BATCH_SIZES = (1, 32)
CLIENTS = (1, 4)
SECONDS = 20.0
WARM_UP = 20  # requests before the clock starts


@contextlib.contextmanager
def running_server(version):
    """The address of a server of this model, for the time of the block."""
    name, folder = version.model_dir.name, version.model_dir.parent
    command = [sys.executable, "-m", "tfssl.cli", "serve", name, "--from", str(folder)]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if "http://" not in line:
                raise RuntimeError("the server did not start")
            yield line.split(": ", 1)[1].split("/v1/")[0]
        finally:
            process.terminate()
            process.wait()


def measure(address, name, reference, clients=CLIENTS, batch_sizes=BATCH_SIZES, seconds=SECONDS):
    """One row per load: requests, errors, requests and images a second, p50 and p99 in ms.

    Args:
      address: such as http://127.0.0.1:8501.
      name: the model's.
      reference: of the model, see `tfssl.export.reference`: what to send, and what to expect.
      clients: numbers of clients at a time.
      batch_sizes: images in a request.
      seconds: how long each load lasts.
    """
    inputs, outputs = reference["classify"]
    return [
        _load(address, name, inputs["x"][:batch], outputs["label"][:batch], count, seconds)
        for batch in batch_sizes
        for count in clients
    ]


def _load(address, name, images, label, count, seconds):
    body = json.dumps({"instances": images.tolist()})
    threads: list[threading.Thread] = []
    results: list[tuple] = []
    start = threading.Barrier(count)
    for _ in range(count):
        arguments = (address, f"/v1/models/{name}:predict", body, label, seconds, start, results)
        threads.append(threading.Thread(target=_client, args=arguments))
        threads[-1].start()
    for thread in threads:
        thread.join()
    latencies = np.concatenate([latencies for latencies, _, _ in results])
    rate = sum(len(latencies) / elapsed for latencies, _, elapsed in results)
    return {
        "clients": count,
        "batch": len(images),
        "requests": len(latencies),
        "errors": sum(errors for _, errors, _ in results),
        "requests_per_second": rate,
        "images_per_second": rate * len(images),
        "p50_ms": 1e3 * float(np.percentile(latencies, 50)),
        "p99_ms": 1e3 * float(np.percentile(latencies, 99)),
    }


def _client(address, path, body, label, seconds, start, results):
    """Append (latencies, errors, elapsed seconds) to `results`."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)

    def request():
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        rows = content.get("predictions", [])
        return answer.status == 200 and [row["label"] for row in rows] == label.tolist()

    for _ in range(WARM_UP):
        request()
    start.wait()
    latencies: list[float] = []
    errors, began = 0, time.perf_counter()
    while not latencies or time.perf_counter() - began < seconds:
        sent = time.perf_counter()
        try:
            errors += not request()
        except (OSError, http.client.HTTPException, ValueError):
            errors += 1
            connection.close()  # the next request opens it again
        latencies.append(time.perf_counter() - sent)
    results.append((latencies, errors, time.perf_counter() - began))
    connection.close()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="an exported model, such as saved_models/digits")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each load")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "docs/results/serving", help="folder to write to"
    )
    options = parser.parse_args()
    version = Version.open(options.model)
    reference = load_reference(version.card / "reference.npz")
    with running_server(version) as address:
        rows = measure(address, version.model_dir.name, reference, seconds=options.seconds)
    card = json.loads((version.card / "card.json").read_text(encoding="utf-8"))
    served = {"model": card["model"], "data": card["data"]["name"]}
    options.output.mkdir(parents=True, exist_ok=True)
    result = {"machine": machine(), "result": {"served": served, "loads": rows}}
    write_json(options.output / "load.json", result)
    for row in rows:
        print({key: round(value, 2) for key, value in row.items()})


if __name__ == "__main__":
    main()
