"""How long steps, training and predictions take, beside others: `python -m benchmarks.speed`."""
