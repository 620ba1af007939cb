"""Probabilities made softer or sharper: p_T(y|x) = p(y|x)^(1/T) / sum_k p(k|x)^(1/T).

T > 1 softens, T < 1 sharpens; the likeliest class stays.
"""

import numpy as np
from scipy import special


def scaled(probabilities, temperature):
    """p_T(y|x), [N, K], from p(y|x), [N, K].

    `export.functions` has it again as a graph: every export is checked against this.
    """
    return special.softmax(log_scores(probabilities) / temperature, axis=1)


def log_scores(probabilities):
    """log p, [N, K] in float64; where p is 0, the log of the smallest p that float32 holds."""
    smallest = np.finfo(np.float32).tiny
    return np.log(np.maximum(np.asarray(probabilities, np.float64), smallest))
