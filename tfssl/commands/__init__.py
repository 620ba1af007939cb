"""Commands of `tfssl`, a file for each subject; tfssl/cli.py registers them.

What a command needs it imports when it is called, so that `tfssl --help` does not wait for it.

Imports errors, storage, settings, models, data, runs, training, choice, pictures, results, paper,
export, serving, devices and demo.
"""
