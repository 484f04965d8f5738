"""Merges that share a cluster are one; what is merged with nothing else isn't listed."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.merges import joined

IDS = st.integers(0, 9).map(lambda number: UUID(int=number))


def test_merges_that_share_a_cluster_are_one():
    a, b, c, d = (UUID(int=number) for number in range(1, 5))

    assert joined([[b, a], [c, b], [d]]) == {a: a, b: a, c: a}


def test_a_merge_within_one_cluster_joins_nothing():
    assert joined([[UUID(int=1), UUID(int=1)], []]) == {}


@given(st.lists(st.lists(IDS, max_size=4), max_size=6))
def test_each_merge_ends_up_in_one_cluster_named_by_its_least(merges):
    together = joined(merges)

    for merge in merges:
        if len(set(merge)) > 1:
            assert len({together[cluster] for cluster in merge}) == 1
    for cluster, found in together.items():
        assert found == min(other for other, name in together.items() if name == found)
        assert found <= cluster
    assert all(list(together.values()).count(name) > 1 for name in together.values())
