"""From an experiment to a run folder: stages that are built, fitted in order and resumed.

Imports models, classifiers, data, runs and pictures.
"""
