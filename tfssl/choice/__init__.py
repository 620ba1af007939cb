"""The default: several classifiers, what the labels say for each, and the answer they justify.

Imports errors, storage, settings, models, classifiers, data, blends, runs and training.
"""
