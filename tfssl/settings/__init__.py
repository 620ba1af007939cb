"""What an experiment is set to: typed fields, how files and overrides are read into them, and what
tables call a method.

Imports errors alone.
"""

from tfssl.settings.fields import (
    DataSettings,
    DeviceSettings,
    FitSettings,
    M1Settings,
    M2Settings,
    Settings,
)
from tfssl.settings.reading import (
    differences,
    dump_settings,
    load_settings,
    merged,
    parse_settings,
    read_values,
    with_changes,
)

__all__ = [
    "DataSettings",
    "DeviceSettings",
    "FitSettings",
    "M1Settings",
    "M2Settings",
    "Settings",
    "differences",
    "dump_settings",
    "load_settings",
    "merged",
    "parse_settings",
    "read_values",
    "with_changes",
]
