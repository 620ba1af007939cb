"""What the CNN and the CAE have in common: scikit-learn's manners, and y == -1."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from tfssl.classifiers import is_transductive, labelled_network
from tfssl.classifiers.cae import ContractiveClassifier, Pretraining
from tfssl.classifiers.cnn import ConvolutionalClassifier
from tfssl.errors import InputError

KINDS = {
    "cnn": lambda **other: ConvolutionalClassifier(**{"steps": 5, **other}),
    "cae": lambda **other: ContractiveClassifier(
        **{"pretraining": Pretraining(units=(8,), steps=5), "steps": 5, **other}
    ),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@pytest.fixture
def problem(rng):
    """Images in [0, 1] of three classes, and points without a label."""
    return rng.uniform(size=(30, 4, 4)), np.resize([7, -1, 2, 5], 30)


@pytest.mark.parametrize("kind", [ConvolutionalClassifier, ContractiveClassifier])
def test_constructor_only_stores_and_clone_keeps_everything(kind):
    names = list(inspect.signature(kind).parameters)
    given = {name: object() for name in names}
    stored = vars(kind(**given))
    assert stored.keys() == given.keys()
    assert all(stored[name] is value for name, value in given.items())
    changed = kind(steps=3, random_state=9)
    assert clone(changed).get_params() == changed.get_params()
    assert is_transductive(changed) == (kind is ContractiveClassifier)


@every_kind
def test_classes_are_sorted_and_need_not_be_consecutive(make, problem):
    x, y = problem
    classifier = make(steps=60).fit(x, y)
    assert classifier.classes_.tolist() == [2, 5, 7]
    probabilities = classifier.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    predicted = classifier.predict(x)
    np.testing.assert_array_equal(predicted, np.array([2, 5, 7])[probabilities.argmax(axis=1)])


@every_kind
def test_rows_at_a_time_do_not_change_predictions(make, problem, monkeypatch):
    x, y = problem
    classifier = make().fit(x, y)
    whole = classifier.predict_proba(x)
    monkeypatch.setattr(labelled_network, "ROWS", 7)
    np.testing.assert_allclose(classifier.predict_proba(x), whole, rtol=1e-4, atol=1e-6)


@every_kind
def test_what_does_not_fit_is_refused(make, problem):
    x, y = problem
    with pytest.raises(InputError, match="must name more than one class"):
        make().fit(x, np.where(y == 2, 2, -1))
    with pytest.raises(InputError, match="`batch_size` must be positive"):
        make(batch_size=0).fit(x, y)
    classifier = make(steps=1).fit(x, y)
    with pytest.raises(InputError, match=r"must have the shape \[N, 4, 4\].*shape=\(3, 4, 5\)"):
        classifier.predict(np.zeros((3, 4, 5)))
