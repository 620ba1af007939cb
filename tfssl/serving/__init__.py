"""Exported versions to HTTP, and the settings of TF Serving.

Imports errors, storage and export.
"""
