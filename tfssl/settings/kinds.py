"""What tables, reports and pages call a method."""

MODELS = {"m1": "M1", "m2": "M2", "m1m2": "M1+M2"}
CLASSIFIERS = {"tsvm": "TSVM", "svm": "SVM", "knn": "1-NN", "logistic": "logistic regression"}


def method_name(settings):
    """What a table calls the method of these settings."""
    if settings.model != "m1":
        return MODELS[settings.model]
    return f"M1+{CLASSIFIERS[settings.m1.classifier]}"
