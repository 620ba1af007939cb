"""Seconds per training step: ours and the peers' in turns, and the share of the machine's limit."""

import math

from benchmarks.speed import cases
from benchmarks.speed.turns import Inside, Worker, time_in_turns

TF_IMPLEMENTATIONS = (
    "tfssl",
    "tfssl_top_1",
    "tfssl_top_2",
    "tfssl_bfloat16",
    "products",
    "tf_tiled",
)
TORCH_IMPLEMENTATIONS = ("torch_tiled", "torch_compiled", "torch_bfloat16", "pyro")
# Steps in a turn, so that a turn lasts about half a second.
STEPS = {"m2_100_1000": 2, "m2_100_100": 10, "m2_20_100": 12, "m1_250": 15, "m2_on_z1": 25}


def measure(rounds, tiny, python, peers_python):
    """Time every case in every implementation.

    Args:
      rounds: turns per case.
      tiny: tiny cases, to see that everything runs.
      python, peers_python: interpreters with TensorFlow and with PyTorch; without the latter only
        the TensorFlow implementations run.
    """
    homes = dict.fromkeys(TF_IMPLEMENTATIONS, python)
    if peers_python is not None:
        homes |= dict.fromkeys(TORCH_IMPLEMENTATIONS, peers_python)
    workers = {
        # In tiny sizes a process of its own is started for one of ours and for every peer.
        name: Inside(name) if tiny and name in TF_IMPLEMENTATIONS[1:] else Worker(name, home)
        for name, home in homes.items()
    }
    try:
        sizes = {"rows": 100, "repetitions": 1} if tiny else {}
        gemm = {name: worker.ask("gemm", **sizes)["gflops"] for name, worker in workers.items()}
        limit = max(gemm.values())
        results = {}
        for name, case in cases.chosen(tiny).items():
            print(f"{name} ...", flush=True)
            for worker in workers.values():
                worker.ask("make", case=name, tiny=tiny)
            losses = check_losses(name, {n: worker.ask("loss") for n, worker in workers.items()})
            for worker in workers.values():
                worker.ask("time", steps=1 if tiny else 4)  # warm up
            turns = {"steps": 1, "rest": 0.0} if tiny else {"steps": STEPS[name]}
            seconds = time_in_turns(workers, rounds, **turns)
            flops = cases.useful_flops(cases.tiny(case) if tiny else case)
            results[name] = {
                "loss": losses,
                "seconds": seconds,
                "useful_gflop": flops / 1e9,
                "share_of_gemm": {
                    n: flops / 1e9 / timing["median"] / limit for n, timing in seconds.items()
                },
            }
            for worker in workers.values():
                worker.ask("release")
        return {"gemm_gflops": gemm, "cases": results}
    finally:
        for worker in workers.values():
            worker.close()


def check_losses(case, losses):
    """Refuse to time implementations that do not compute the same; return the losses."""
    for kind in ("loss", "loss_sampled_kl"):
        values = {name: answer[kind] for name, answer in losses.items() if kind in answer}
        reference = values.get("tfssl", next(iter(values.values()), 0.0))
        for name, value in values.items():
            # bfloat16 has 8 bits; here it is enough that the objective is the same one.
            tolerance = 2e-2 if name.endswith("bfloat16") else 1e-5
            if not math.isclose(value, reference, rel_tol=tolerance):
                raise RuntimeError(f"{case}: {kind} of {name} is {value}, of tfssl {reference}")
    return losses
