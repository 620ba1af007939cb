"""Measurements of tfssl, a room for each question; `benchmarks.tables` writes them into docs."""
