"""Timings of tfssl beside other implementations of the same training step."""
