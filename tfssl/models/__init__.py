"""The paper: objectives, distributions, networks, likelihoods, noise, M1, M2 and their stack.

Imports errors alone.
"""

from tfssl.models.m1 import M1
from tfssl.models.m2 import M2
from tfssl.models.stacked import LatentM2, StackedM1M2, active_dimensions

__all__ = ["M1", "M2", "ONE_STAGE", "WHOLE", "LatentM2", "StackedM1M2", "active_dimensions"]

# Models of x and its class that are trained on x at once, by the name that settings have for them.
ONE_STAGE = {"m2": M2}
# What the file of a run may hold: no other class is built from it.
WHOLE = (M1, StackedM1M2, *ONE_STAGE.values())
