"""Pictures: arrays to grids, curves and maps; a model, a run or a data set to arrays.

Imports errors, storage, data and runs.
"""
