"""How common the classes are among unlabelled points, from calibrated probabilities.

EM for pi with p(y|x) fixed but for the classes' shares:

    q_nk = p_nk (pi_k / rho_k) / sum_j p_nj (pi_j / rho_j)      rho: the shares that p was fitted to
    pi_k = (sum_n q_nk + s K N rho_k) / (N (1 + s K))

With s > 0 the shares of the labels count as s K N points of K classes: p is never calibrated
perfectly, and the more classes there are, the less is known of each.

Reference: M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new
a priori probabilities", Neural Computation 2002.
"""

STEPS = 100
SHRINKAGE = 0.15


def shares_among(probabilities, labelled_shares, shrinkage=SHRINKAGE):
    """pi, [K].

    Args:
      probabilities: [N, K] of unlabelled points.
      labelled_shares: rho, [K].
      shrinkage: s.
    """
    shares, count = labelled_shares, len(probabilities)
    weight = shrinkage * len(shares)
    for _ in range(STEPS if count else 0):
        expected = with_shares(probabilities, shares, labelled_shares).mean(axis=0)
        shares = (expected + weight * labelled_shares) / (1.0 + weight)
    return shares


def with_shares(probabilities, shares, labelled_shares):
    """Probabilities [N, K] where the classes' shares are `shares`: q above."""
    found = probabilities * (shares / labelled_shares)
    return found / found.sum(axis=1, keepdims=True)
