"""Whether a method keeps what it promises: suggestions, calibration, truncation."""
