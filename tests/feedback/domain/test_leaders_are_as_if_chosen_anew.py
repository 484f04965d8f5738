"""However texts come, go and move, the leaders are those that judging all of them in their order would give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.domain.leaders import Leaders, Text
from feedback.domain.near_duplicates import reaches

# Windows on a row of shingles: each is similar to the next and to no other. And texts of few shingles.
SHINGLES = st.one_of(
    st.integers(0, 5).map(lambda first: frozenset(range(first, first + 9))),
    st.frozensets(st.integers(0, 7), min_size=1, max_size=7),
)
CHANGES = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("place"), st.integers(0, 9), st.integers(1, 40), SHINGLES),
            st.tuples(st.just("move"), st.integers(0, 9), st.integers(1, 40), st.none()),
            st.tuples(st.just("remove"), st.integers(0, 9), st.none(), st.none()),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda change: change[1],
    ),
    max_size=8,
)


class Shelf:
    """Stored texts in memory; what it gives away is a copy."""

    def __init__(self) -> None:
        self.texts: dict[UUID, Text] = {}

    def leaders(self, bands: Iterable[int]) -> list[Text]:
        return [text for text in self.sharing(bands) if text.is_leader]

    def sharing(self, bands: Iterable[int]) -> list[Text]:
        return [replace(text) for text in self.texts.values() if set(text.bands) & set(bands)]

    def followers(self, leaders: Iterable[UUID]) -> list[Text]:
        return [replace(text) for text in self.texts.values() if text.leader in set(leaders) and not text.is_leader]

    def last_position(self) -> UUID | None:
        return max((text.position for text in self.texts.values()), default=None)


def text_of(number: int, position: int, shingles: frozenset[int]) -> Text:
    # No two texts stand in one place.
    bands = tuple(sorted({shingle // 3 for shingle in shingles}))
    return Text(UUID(int=number), UUID(int=position * 16 + number), shingles, bands)


def chosen_anew(texts: Iterable[Text]) -> dict[UUID, UUID]:
    """Judge all texts in their order."""
    leaders: list[Text] = []
    found: dict[UUID, UUID] = {}
    for text in sorted(texts, key=lambda each: each.position):
        similar = (
            each for each in leaders if set(each.bands) & set(text.bands) and reaches(each.shingles, text.shingles)
        )
        first = next(similar, text)
        found[text.id] = first.id
        if first is text:
            leaders.append(text)
    return found


def change(shelf: Shelf, batch: list[tuple[str, int, int | None, frozenset[int] | None]]) -> None:
    leaders = Leaders(shelf)
    gone, touched = set(), {}
    for kind, number, position, shingles in batch:
        stored = shelf.texts.get(UUID(int=number))
        if kind == "place" and stored is None:
            text = text_of(number, position, shingles)
            leaders.place(text)
            touched[text.id] = text
        elif kind == "move" and stored is not None:
            text = replace(stored)
            leaders.move(text, UUID(int=position * 16 + number))
            touched[text.id] = text
        elif kind == "remove" and stored is not None:
            leaders.remove(replace(stored))
            gone.add(stored.id)
    for text in leaders.settle():
        touched[text.id] = text
    shelf.texts = {**shelf.texts, **touched}
    for identity in gone:
        del shelf.texts[identity]


@settings(max_examples=400)
@given(CHANGES)
def test_changes_leave_what_choosing_anew_would_give(changes):
    shelf = Shelf()

    for batch in changes:
        change(shelf, batch)

        assert {text.id: text.leader for text in shelf.texts.values()} == chosen_anew(shelf.texts.values())


def test_who_followed_a_leader_that_goes_chooses_again():
    shelf = Shelf()
    first, edited = frozenset(range(5)), frozenset(range(6))
    change(shelf, [("place", 1, 1, first), ("place", 2, 2, edited), ("place", 3, 3, edited)])
    assert shelf.texts[UUID(int=3)].leader == UUID(int=1)

    change(shelf, [("remove", 1, None, None)])

    assert {text.leader for text in shelf.texts.values()} == {UUID(int=2)}


def test_an_earlier_leader_takes_over_from_one_that_it_is_like():
    shelf = Shelf()
    change(shelf, [("place", 5, 5, frozenset(range(5))), ("place", 6, 6, frozenset(range(6)))])

    change(shelf, [("place", 1, 1, frozenset(range(6)))])

    assert {text.leader for text in shelf.texts.values()} == {UUID(int=1)}


def window(first: int) -> frozenset[int]:
    """Return shingles that are similar to those of the next window and to no other."""
    return frozenset(range(first, first + 9))


def test_a_leader_that_moves_forward_takes_those_that_it_is_like_from_later_leaders():
    shelf = Shelf()
    change(shelf, [("place", 1, 5, window(0)), ("place", 2, 10, window(2)), ("place", 3, 20, window(1))])
    assert shelf.texts[UUID(int=3)].leader == UUID(int=1)

    change(shelf, [("move", 2, 3, None)])

    assert shelf.texts[UUID(int=3)].leader == UUID(int=2)


def test_who_followed_a_leader_that_follows_another_now_chooses_again():
    shelf = Shelf()
    change(shelf, [("place", 2, 10, window(1)), ("place", 3, 20, window(2)), ("place", 4, 30, window(3))])
    assert shelf.texts[UUID(int=3)].leader == UUID(int=2)
    assert shelf.texts[UUID(int=4)].leader == UUID(int=4)

    change(shelf, [("place", 1, 1, window(0))])

    assert [shelf.texts[UUID(int=number)].leader.int for number in (1, 2, 3, 4)] == [1, 1, 3, 3]


def test_texts_without_a_shared_band_stay_apart_however_similar():
    shelf = Shelf()
    change(shelf, [("place", 1, 1, frozenset(range(5)))])
    lonely = replace(text_of(2, 2, frozenset(range(5))), bands=())
    leaders = Leaders(shelf)

    leaders.place(lonely)
    changed = leaders.settle()

    assert [(text.id, text.leader) for text in changed] == [(lonely.id, lonely.id)]


def test_a_text_is_compared_with_leaders_and_not_with_their_followers():
    shelf = Shelf()
    common = frozenset(range(100, 140))
    # Two hundred texts of one template, each with a number of its own.
    template = [replace(text_of(n, n + 1, common | {n}), id=UUID(int=n), bands=(7,)) for n in range(200)]
    filling = Leaders(shelf)
    for text in template:
        filling.place(text)
    filling.settle()
    shelf.texts = {text.id: text for text in template}
    read: list[UUID] = []

    class Watched(Shelf):
        def sharing(self, bands: Iterable[int]) -> list[Text]:
            pytest.fail("the followers of a leader were read")

        def leaders(self, bands: Iterable[int]) -> list[Text]:
            found = Shelf.leaders(shelf, bands)
            read.extend(text.id for text in found)
            return found

    watched = Watched()
    watched.texts = shelf.texts
    newest = replace(text_of(300, 900, common | {300}), bands=(7,))
    leaders = Leaders(watched)
    leaders.place(newest)
    leaders.settle()

    assert newest.leader == UUID(int=0)
    assert read == [UUID(int=0)]
