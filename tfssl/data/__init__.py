"""From a source to batches: files and data sets, the split, preprocessing, tf.data.

Imports errors, storage and settings.
"""
