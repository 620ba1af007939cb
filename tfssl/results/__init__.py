"""What a run is worth: comparisons, the report, suggestions of what to label.

Imports errors, storage, settings, models, runs and pictures.
"""
