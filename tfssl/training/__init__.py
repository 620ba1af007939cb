"""From an experiment to a run folder: stages that are built, fitted in order and resumed.

Imports errors, storage, models, classifiers, data and runs.
"""
