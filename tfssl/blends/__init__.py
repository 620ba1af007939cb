"""A weighted mean of calibrated classifiers, each with its own view of x; and its files.

Imports errors, storage, models, classifiers and data.
"""
