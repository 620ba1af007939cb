"""Commands of `tfssl`, a file for each subject; tfssl/cli.py registers them.

Imports errors, storage, settings, models, data, runs, training, pictures, results, paper, export,
serving, devices and demo.
"""
