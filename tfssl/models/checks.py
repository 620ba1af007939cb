"""What the models refuse before they build anything."""

import math

from tfssl.errors import expect
from tfssl.models.priors import LEARNED


def check_classes(num_classes, class_prior):
    """Fail unless there are two classes or more, and p(y), if given, suits them."""
    expect(
        isinstance(num_classes, int) and num_classes >= 2,
        "`num_classes` must be an integer of at least 2",
        num_classes=num_classes,
    )
    expect(
        class_prior is None
        or (isinstance(class_prior, str) and class_prior == LEARNED)
        or (
            not isinstance(class_prior, str)
            and len(class_prior) == num_classes
            and min(class_prior) > 0
            and math.isclose(sum(class_prior), 1.0, rel_tol=1e-5)
        ),
        f"`class_prior` must be {num_classes} positive probabilities that sum to 1, or "
        f'"{LEARNED}", or None',
        class_prior=class_prior,
    )


def check_share(labelled_share):
    """Fail unless rho, if given, leaves the labels a part in the loss."""
    expect(
        labelled_share is None or 0.0 < labelled_share <= 1.0,
        "`labelled_share` must be above 0 and at most 1, or None for N_l / N",
        labelled_share=labelled_share,
    )
