"""The run folder: its files, reading it back, and predicting by it; its temperature belongs to it.

Imports storage, settings, models, classifiers and data.
"""
