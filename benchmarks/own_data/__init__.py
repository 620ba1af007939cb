"""A person with their own data and a few labels: what does each method give them?

Twenty-four sets of all kinds, split into a development half, on which everything may be chosen,
and a final half, on which nothing is. `python -m benchmarks.own_data --help` runs it,
`python -m benchmarks.own_data.report` writes docs/own_data_benchmark.md.
"""
