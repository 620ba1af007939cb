"""The same graphs as .tflite files, checked, and a client for devices.

Imports errors, storage, runs and export.
"""
