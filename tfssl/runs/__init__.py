"""The run folder: its files, reading it back, predicting by it, and what was measured of it.

Imports errors, storage, settings, models, classifiers, data and blends.
"""
