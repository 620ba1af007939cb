"""Many runs: resumable jobs, studies on the same splits, the paper's tables and figures.

Imports errors, storage, settings, classifiers, data, runs, training, choice, pictures and results.
"""
