"""Results to trust: calibration, the report, suggestions of what to label, comparisons of runs."""
