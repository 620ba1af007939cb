"""A run for other programs: graphs of named tensors, as versions of a SavedModel with their card.

Imports errors, storage, settings, models, classifiers, blends and runs.
"""
