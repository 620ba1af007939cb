"""Models, likelihoods and classifiers: what settings call each, and what tables and cards do.

A new kind begins here; docs/architecture.md says where it goes on.
"""

from typing import Literal

# "auto" is no model but the choice among classifiers that held-out labels speak for.
Model = Literal["auto", "m1", "m2", "m1m2"]
MODELS = {"auto": "chosen", "m1": "M1", "m2": "M2", "m1m2": "M1+M2"}
DESCRIPTIONS = {
    "auto": "The mean of classifiers that were chosen by held-out labels",
    "m1": "M1: a variational auto-encoder, and a classifier on its latents ({classifier})",
    "m2": "M2: a variational auto-encoder with the class as a latent variable",
    "m1m2": "M1+M2: M2 on the latents of a frozen M1",
}

Likelihood = Literal["bernoulli", "binomial", "gaussian", "isotropic", "columns"]
# Densities of any real number, and so of principal components; the others want values from 0 on.
UNBOUNDED = ("gaussian", "isotropic")
# Of a table: a density for each column, by what it holds.
COLUMNS = "columns"

Classifier = Literal["tsvm", "svm", "knn", "logistic"]
CLASSIFIERS = {"tsvm": "TSVM", "svm": "SVM", "knn": "1-NN", "logistic": "logistic regression"}


def method_name(settings):
    """What tables, reports and pages call the method of these settings."""
    if settings.model != "m1":
        return MODELS[settings.model]
    return f"M1+{CLASSIFIERS[settings.m1.classifier]}"
