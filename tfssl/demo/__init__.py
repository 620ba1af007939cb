"""A page that runs a trained model in the browser, and what serves it.

Imports errors, settings, runs, pictures and devices.
"""
