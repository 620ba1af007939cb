"""A process that holds one implementation and does as it is told: one JSON object per line.

  {"do": "make", "case": name, "tiny": false, "options": {}}  -> {"ok": true}
  {"do": "loss"}               -> {"loss": ..., "loss_sampled_kl": ...}, those it has, fixed noise
  {"do": "time", "steps": n}   -> {"seconds": [n times]}
  {"do": "gemm", "repetitions": 5, "rows": 10000}  -> {"gflops": ..., "gflops_by_product": {...}}
  {"do": "release"}            -> {"ok": true}, the implementation's memory is free
  {"do": "quit"}               -> {"ok": true}, the process ends

What goes wrong comes back as {"error": "..."}. Start one with
`python -m benchmarks.speed.worker IMPLEMENTATION`, in an environment that has that implementation.
"""

import gc
import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

from benchmarks.speed import cases, gemm

# Name -> module, options of its `make`, products of its library. Imported when asked for, since no
# environment need have all the libraries.
IMPLEMENTATIONS: dict[str, tuple] = {
    "tfssl": ("benchmarks.speed.ours", {}, gemm.tf_products),
    "tfssl_top_1": ("benchmarks.speed.ours", {"top_classes": 1}, gemm.tf_products),
    "tfssl_top_2": ("benchmarks.speed.ours", {"top_classes": 2}, gemm.tf_products),
    "tfssl_bfloat16": ("benchmarks.speed.ours", {"precision": "mixed_bfloat16"}, gemm.tf_products),
    "products": ("benchmarks.speed.products", {}, gemm.tf_products),
    "tf_tiled": ("benchmarks.peers.tf_tiled", {}, gemm.tf_products),
    "torch_tiled": ("benchmarks.peers.torch_tiled", {}, gemm.torch_products),
    "torch_compiled": ("benchmarks.peers.torch_tiled", {"compile": True}, gemm.torch_products),
    "torch_bfloat16": ("benchmarks.peers.torch_tiled", {"bfloat16": True}, gemm.torch_products),
    "pyro": ("benchmarks.peers.pyro_enumeration", {}, gemm.torch_products),
}
SEED = 0  # everyone's weights, data and fixed noise are the same


class Worker:
    """One method per word after "do"; the other keys are its arguments, the result the answer."""

    def __init__(self, name):
        self.module, self.options, self.products = IMPLEMENTATIONS[name]
        self.case = None
        self.implementation: Any = None

    def make(self, case, tiny=False, options=None):
        self.release()
        chosen = cases.CASES[case]
        self.case = cases.tiny(chosen) if tiny else chosen
        weights, data = cases.weights(self.case, SEED), cases.data(self.case, SEED)
        module = importlib.import_module(self.module)
        options = {**self.options, **(options or {})}
        self.implementation = module.make(self.case, weights, data, **options)
        return {"ok": True}

    def loss(self):
        return self.implementation.loss(cases.fixed_noise(self.case, SEED))

    def time(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.implementation.step()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def gemm(self, **sizes):
        return gemm.measure(self.products, **sizes)

    def release(self):
        self.implementation = None
        gc.collect()
        return {"ok": True}

    def quit(self):
        return {"ok": True}

    def answer(self, line):
        """The reply to one line, and whether it was the last."""
        try:
            request = json.loads(line)
            word = request.pop("do")
            if word not in ("make", "loss", "time", "gemm", "release", "quit"):
                raise ValueError(f'unknown "do": {word}')
            return getattr(self, word)(**request), word == "quit"
        except Exception as error:
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}"}, False


def main(name):
    # Libraries print where they like: fd 1 becomes stderr and only replies go to the real stdout.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(name)
    for line in sys.stdin:
        reply, last = worker.answer(line)
        print(json.dumps(reply), file=replies)
        if last:
            break


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in IMPLEMENTATIONS:
        sys.exit(f"usage: python -m benchmarks.speed.worker {{{','.join(IMPLEMENTATIONS)}}}")
    main(sys.argv[1])
