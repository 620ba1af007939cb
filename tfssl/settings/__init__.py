"""Typed settings of one experiment: what they are, and how they are read and written."""

from tfssl.settings.reading import *  # noqa: F403
