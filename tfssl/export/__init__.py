"""Trained runs for other programs: graphs of named tensors, SavedModels and their servers."""
