"""The tables of README and docs, made from the committed result files."""
