"""The choice: who is tried, who is taken, and what is said of it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.choice.conftest import pool_of
from tfssl.choice import choose as module
from tfssl.choice.candidates import SHALLOW, Supervised
from tfssl.choice.choose import MEMBERS, Watch, choose, members_of, within
from tfssl.choice.evidence import Evidence
from tfssl.choice.words import ChoiceTable, rows, sentence
from tfssl.errors import InputError


@pytest.fixture(autouse=True)
def without_networks(monkeypatch):
    """They take seconds; tests/choice/test_networks.py has them."""
    monkeypatch.setattr(module, "generative_candidates", lambda pool: ())  # noqa: ARG005


def test_the_answer_classifies_and_says_why(pool, blobs):
    choice = choose(pool)
    x, y = blobs
    assert (choice.blend(x).argmax(axis=1) == y).mean() > 0.95
    assert len(choice.blend.members) == MEMBERS
    assert sum(member.weight for member in choice.blend.members) == pytest.approx(1.0)
    losses = [evidence.log_loss for evidence in choice.evidence if evidence.is_whole]
    assert losses == sorted(losses)
    table = ChoiceTable.of(choice)
    assert {row["name"] for row in table.rows} >= {candidate.name for candidate in SHALLOW}
    assert 0 <= table.error < 0.2
    assert table.sentence in str(table)


def test_the_same_seed_gives_the_same_answer(blobs):
    x, y = blobs
    one, two = (choose(pool_of(x, y, 4, seed=5)).blend(x) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_members_are_the_best_of_their_families():
    def evidence(name, family, loss):
        candidate = Supervised(
            name=name, view="plain", make=None, work=lambda _: 0.0, family=family
        )
        p = np.full((4, 2), np.exp(-loss))
        return Evidence(candidate, p, 1.0, np.zeros(4, int), 0.0)

    names = ["a", "b", "c", "d", "e", "f"]
    families = ["x", "x", "", "", "y", ""]
    found = [evidence(n, f, i / 10) for i, (n, f) in enumerate(zip(names, families, strict=True))]
    assert [e.name for e in members_of(found)] == ["a", "c", "d", "e"]


def test_the_budget_keeps_the_quick_ones(pool):
    folds = 5
    plan, left_out = within(1e9, SHALLOW, pool, folds)
    assert len(plan) == len(SHALLOW)
    assert not left_out
    few, left_out = within(3.0, SHALLOW, pool, folds)
    assert 0 < len(few) < len(SHALLOW)
    assert {c.name for c in few} | set(left_out) == {c.name for c in SHALLOW}
    assert all(why.startswith("the budget: about") for why in left_out.values())
    assert max(c.work(pool) for c in few) <= max(c.work(pool) for c in SHALLOW)


def test_one_that_fails_is_left_out_and_the_others_go_on(pool, monkeypatch):
    def broken(_):
        raise ValueError("singular matrix")

    bad = Supervised(name="bad", view="plain", make=broken, work=lambda _: 0.0)
    good = Supervised(
        name="good", view="plain", make=lambda _: LogisticRegression(), work=lambda _: 0.1
    )
    monkeypatch.setattr(module, "candidates_for", lambda _: (bad, good))
    choice = choose(pool)
    assert choice.left_out == {"bad": "failed: singular matrix"}
    assert [member.name for member in choice.blend.members] == ["good"]
    monkeypatch.setattr(module, "candidates_for", lambda _: (bad,))
    with pytest.raises(InputError, match=r"no candidate could be fitted.*singular matrix"):
        choose(pool)


def test_an_interrupted_comparison_keeps_the_best_so_far(pool):
    begun = []

    def interrupt(at):
        def begin(name, left, seconds):  # noqa: ARG001
            begun.append(name)
            if len(begun) == at:
                raise KeyboardInterrupt

        return Watch(begin=begin)

    with pytest.raises(KeyboardInterrupt):  # nothing to keep
        choose(pool, watch=interrupt(1))
    begun.clear()
    choice = choose(pool, watch=interrupt(5))
    assert len(choice.evidence) == 4
    assert set(choice.left_out.values()) == {"interrupted"}


def test_what_is_stored_is_not_reckoned_again(pool, monkeypatch):
    kept = {}
    reckon = module.out_of_fold

    def keeping(candidate, *others):
        kept[candidate.name] = reckon(candidate, *others)
        return kept[candidate.name]

    monkeypatch.setattr(module, "out_of_fold", keeping)
    first = choose(pool)
    monkeypatch.setattr(module, "out_of_fold", None)
    again = choose(pool, watch=Watch(stored=lambda name: (kept[name], 1.5)))
    assert {evidence.seconds for evidence in again.evidence} == {1.5}
    np.testing.assert_array_equal(again.probabilities, first.probabilities)


def test_a_class_with_one_label_cannot_be_compared(blobs):
    x, y = blobs
    choice = choose(pool_of(x, y, 1))
    assert choice.evidence == ()
    assert "single label" in sentence(choice)
    assert (choice.blend(x).argmax(axis=1) == y).mean() > 0.8
    assert all("one label only" in row["note"] for row in rows(choice))


def test_without_unlabelled_points_there_is_an_answer(blobs):
    x, y = blobs
    choice = choose(pool_of(x[:60], y[:60], 60))
    assert (choice.blend(x).argmax(axis=1) == y).mean() > 0.95


def test_shares_of_the_classes_follow_the_unlabelled_points():
    """Ten labels of each, but nine in ten points are of one class, and the classes overlap."""
    rng = np.random.default_rng(0)
    y = (rng.random(1500) < 0.1).astype(int)
    x = (rng.normal(size=(1500, 2)) + 1.5 * y[:, None]).astype(np.float32)
    pool = pool_of(x, y, 10)
    blend = choose(pool).blend
    assert blend.shares[0] > 0.65
    even = blend.as_labelled(x).argmax(axis=1)
    assert (blend(x).argmax(axis=1) == y).mean() > (even == y).mean() + 0.01
