"""Band keys find at least 95 % of the near-duplicate pairs of a corpus, and only true pairs are kept."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.fingerprints import BANDS, fingerprints
from feedback.domain.near_duplicates import is_near_duplicate, reaches, words

CORPUS = UUID(int=1)
OTHER = UUID(int=2)


def prints_of(texts, corpus=CORPUS):
    salts = [str(number).encode() for number in range(len(texts))]
    return fingerprints([words(text) for text in texts], salts=salts, corpus=corpus)


def with_edits(rng, *, texts):
    """Return texts of 6 to 40 words with 0 to 3 edited copies of each."""
    vocabulary = [f"word{number}" for number in range(3_000)]
    found = []
    for _ in range(texts):
        original = rng.choices(vocabulary, k=rng.randint(6, 40))
        found.append(" ".join(original))
        for _ in range(rng.randint(0, 3)):
            copy = list(original)
            for _ in range(rng.randint(1, 3)):
                place = rng.randrange(len(copy))
                copy[place : place + rng.randint(0, 1)] = rng.choices(vocabulary, k=rng.randint(0, 1))
            found.append(" ".join(copy))
    return found


def test_recall_is_at_least_95_percent_and_every_kept_pair_is_true():
    texts = with_edits(random.Random(20_260_301), texts=400)
    said = [words(text) for text in texts]
    exact = {pair for pair in combinations(range(len(texts)), 2) if is_near_duplicate(said[pair[0]], said[pair[1]])}

    prints = prints_of(texts)
    buckets = defaultdict(set)
    for number, each in enumerate(prints):
        for key in (each.identity, *each.bands):
            buckets[key].add(number)
    candidates = {pair for bucket in buckets.values() for pair in combinations(sorted(bucket), 2)}
    kept = {
        (one, other)
        for one, other in candidates
        if prints[one].identity == prints[other].identity
        or reaches(frozenset(prints[one].shingles), frozenset(prints[other].shingles))
    }

    assert len(exact) > 300
    assert kept <= exact
    assert len(kept) >= 0.95 * len(exact)
    # What is compared exactly is a sliver of all pairs.
    assert len(candidates) < 0.01 * len(texts) ** 2


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.lists(st.sampled_from("abcdef"), max_size=12))
def test_hashed_shingles_compare_as_the_words_do(first, second):
    one, other = fingerprints([first, second], salts=[b"1", b"2"], corpus=CORPUS)

    alike = one.identity == other.identity or reaches(frozenset(one.shingles), frozenset(other.shingles))

    assert alike == is_near_duplicate(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Nothing.", "nothing"),
        ("The app CRASHES — every time!", "the app crashes every time"),
        ("Crème brûlée", "creme brulee"),
        ("ＡＢＣ 12", "abc 12"),
        ("故障しました。", "故障しました"),
        ("👍", "👍 "),
    ],
)
def test_case_accents_and_punctuation_make_no_difference(first, second):
    one, other = prints_of([first, second])

    assert one == other


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("late", "later"),
        ("very late again", "very late"),
        ("not very good", "very good"),
        ("कल", "काल"),
        ("👍", "👎"),
        ("…", "!!!"),
        ("", "…"),
    ],
)
def test_short_texts_are_alike_only_when_they_are_equal(first, second):
    one, other = prints_of([first, second])

    assert one.identity != other.identity
    assert (one.bands, other.bands) == ((), ())


def test_texts_without_words_are_like_none_not_even_their_equals():
    one, other = prints_of(["…", "…"])

    assert one.identity != other.identity


def test_two_corpora_share_neither_identity_nor_key():
    text = "the kettle broke on the third day and nobody answers"
    (mine,), (theirs,) = prints_of([text]), prints_of([text], corpus=OTHER)

    assert mine.identity != theirs.identity
    assert len(mine.bands) == len(theirs.bands) == BANDS
    assert not set(mine.bands) & set(theirs.bands)
    assert mine.shingles == theirs.shingles


def test_no_texts_have_no_fingerprints():
    assert fingerprints([], salts=[], corpus=CORPUS) == []
