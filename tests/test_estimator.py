import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tfssl import SemiSupervisedClassifier

FAST = {
    "hidden_units": (16,),
    "latent_dim": 2,
    "batch_size": 300,
    "epochs": 20,
    "learning_rate": 0.03,
}


@parametrize_with_checks([SemiSupervisedClassifier("m2", **FAST)])
def test_checks(estimator, check):
    check(estimator)
