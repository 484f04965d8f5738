"""A number counts each record once that holds a word of every group, wherever in the record its words stand."""

from __future__ import annotations

import random

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import Selection, count_matching
from feedback.selectors.corpora import corpus_state

WORDS = ("amber", "basil", "cedar", "delta", "ember")
# As long as a passage may be: what follows stands in the next one.
FILLER = " ".join(["It was an ordinary morning and nothing else is worth a mention here."] * 18)


@pytest.fixture
def records(corpus, ingest):
    """Store 60 records of one to three passages; return the words of each passage by record, and the sources."""
    rng = random.Random(5)
    said, sources = {}, {}
    for number in range(60):
        # amber is frequent, ember rare: the lead is another group from one question to the next.
        parts = [
            [word for word, share in zip(WORDS, (0.7, 0.4, 0.3, 0.2, 0.1), strict=True) if rng.random() < share]
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        said[f"r{number:02}"] = parts
        sources[f"r{number:02}"] = rng.choice(("survey", "call"))
    ingest(
        *(
            {
                "id": identity,
                "text": "\n\n".join(f"{' '.join(words) or 'nothing'}. {FILLER}" for words in parts),
                "source": sources[identity],
                "language": "en",
                "occurred_at": f"2026-0{1 + int(identity[1:]) % 3}-03",
            }
            for identity, parts in said.items()
        )
    )
    return said, sources


def _count(corpus, groups, filters=None):
    with tenant_session(corpus.tenant):
        return count_matching(corpus=corpus, selection=Selection(groups=groups, filters=filters or FilterSet()))


def test_records_have_several_passages(corpus, records):
    with tenant_session(corpus.tenant):
        state = corpus_state(corpus=corpus)

    assert state.documents == 60
    assert state.passages > 90


@pytest.mark.parametrize("source", [None, "call"])
@pytest.mark.parametrize("seed", range(25))
def test_a_count_is_that_of_reading_every_record(corpus, records, seed, source):
    said, sources = records
    rng = random.Random(seed)
    groups = tuple(tuple(rng.sample(WORDS, rng.choice((1, 1, 2)))) for _ in range(rng.randint(1, 4)))

    counted = _count(corpus, groups, FilterSet(source=(source,)) if source else None)

    expected = {
        identity
        for identity, parts in said.items()
        if (source is None or sources[identity] == source)
        and all(any(word in part for part in parts for word in group) for group in groups)
    }
    assert counted.value == len(expected)
    assert set(counted.doc_ids) <= expected


@pytest.mark.parametrize("groups", [(("unheard",),), (("amber",), ("unheard",)), (("unheard",), ("amber",))])
def test_a_word_that_no_record_holds_counts_nothing(corpus, records, groups):
    assert _count(corpus, groups).value == 0


def test_another_tenants_records_are_not_counted(corpus, records, other_corpus, ingest):
    before = _count(corpus, (("ember",),)).value

    ingest({"id": "r00", "text": "ember ember", "language": "en"}, into=other_corpus)

    assert _count(corpus, (("ember",),)).value == before
    assert _count(other_corpus, (("ember",),)).value == 1
