"""Commands of `tfssl`, by subject; tfssl/cli.py registers them."""
