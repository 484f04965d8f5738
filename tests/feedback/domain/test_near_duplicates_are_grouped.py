"""Records that say the same are grouped once; a chain of small edits doesn't join unlike ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.near_duplicates import group, is_near_duplicate

tokens = st.lists(st.sampled_from("abcde"), max_size=8)


def test_small_edit_is_a_near_duplicate() -> None:
    first = [*"the app crashes every time i open my order history on the phone".split(), "today"]
    second = [*first, "again"]

    assert is_near_duplicate(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("app slow", "slow app"), ("refund was late", "delivery was late"), ("", ""), ("nothing", "")],
)
def test_other_texts_are_not(first: str, second: str) -> None:
    assert not is_near_duplicate(first.split(), second.split())


def test_groups_follow_the_given_order() -> None:
    texts = {"r1": ["cold", "food"], "r2": ["late"], "r3": ["cold", "food"], "r4": []}

    assert group(texts) == [["r1", "r3"], ["r2"], ["r4"]]


def test_chain_of_edits_does_not_join_its_ends() -> None:
    words = list("abcdefghijkl")
    chain = {n: [*words[n:], *map(str, range(n))] for n in range(8)}

    groups = group(chain, threshold=0.6)

    assert all(is_near_duplicate(chain[members[0]], chain[m], threshold=0.6) for members in groups for m in members)
    assert len(groups) > 1


def test_too_many_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="200"):
        group({n: ["a"] for n in range(201)})


@given(st.dictionaries(st.integers(), tokens, max_size=12), st.floats(0.1, 1))
def test_groups_partition_the_texts(texts: dict[int, list[str]], threshold: float) -> None:
    groups = group(texts, threshold=threshold)

    assert sorted(key for members in groups for key in members) == sorted(texts)
    assert [members[0] for members in groups] == [key for key in texts if key in {m[0] for m in groups}]


@given(tokens, tokens)
def test_similarity_is_symmetric_and_reflexive(first: list[str], second: list[str]) -> None:
    assert is_near_duplicate(first, second) == is_near_duplicate(second, first)
    assert is_near_duplicate(first, first) == bool(first)
