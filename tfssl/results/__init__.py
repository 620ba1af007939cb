"""What a run is worth: calibration, comparisons, the report, suggestions of what to label.

Imports errors, storage, settings, models, runs and pictures.
"""
