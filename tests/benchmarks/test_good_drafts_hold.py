"""The good drafts over the demo corpus are what they claim: exact quotes, true counts, real paraphrases."""

import re
from collections import Counter

import pytest

from answering.domain.claims import ClaimKind
from benchmarks.mutations.drafts import Built, Corpus, load, shared_words

LITTLE_SHARED = 0.7


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load()


def language(good: Built, citation_id: str) -> str:
    return next(e.language for e in good.evidence if e.citation_id == citation_id)


def test_there_are_200_drafts_with_ids_of_their_own(corpus: Corpus) -> None:
    ids = [line["id"] for line in corpus.drafts]

    assert len(ids) >= 200
    assert len(set(ids)) == len(ids)


def test_every_kind_of_claim_and_several_languages_are_there(corpus: Corpus) -> None:
    kinds = Counter(claim.kind for good in corpus.built for claim in good.draft.claims)
    languages = Counter(
        language(good, claim.citations[0].evidence_id)
        for good in corpus.built
        for claim in good.draft.claims
        if claim.kind is ClaimKind.STATEMENT
    )

    assert kinds[ClaimKind.QUOTE] >= 60
    assert kinds[ClaimKind.MEASURE] >= 40
    assert kinds[ClaimKind.STATEMENT] >= 160
    assert languages["de"] >= 20
    assert languages["es"] >= 20


def test_every_cited_quote_is_exactly_in_its_record(corpus: Corpus) -> None:
    texts = {
        (line["id"], c["doc_id"]): corpus.records[c["doc_id"]]["text"] for line in corpus.drafts for c in cited(line)
    }

    altered = [
        (line["id"], c["quote"])
        for line in corpus.drafts
        for c in cited(line)
        if c["quote"] not in texts[line["id"], c["doc_id"]]
    ]
    moved = [
        (good, citation.quote)
        for good in corpus.built
        for claim in good.draft.claims
        for citation in claim.citations
        if not citation.matches(next(e.text for e in good.evidence if e.citation_id == citation.evidence_id))
    ]

    assert not altered
    assert not moved


def test_a_quote_says_what_it_cites(corpus: Corpus) -> None:
    quotes = [c for good in corpus.built for c in good.draft.claims if c.kind is ClaimKind.QUOTE]

    assert all(c.text == c.citations[0].quote and len(c.citations) == 1 for c in quotes)


def test_every_measure_counts_to_what_it_says(corpus: Corpus) -> None:
    for good in corpus.built:
        for claim in good.draft.claims:
            if claim.measure is None:
                continue
            counted = good.measures[claim.id]
            measure = claim.measure

            assert (measure.value, measure.people, measure.accounts, measure.denominator) == (
                counted.value,
                counted.people,
                counted.accounts,
                counted.denominator,
            ), claim.text
            assert numbers_said(claim.text) <= set(measure.numbers()), claim.text
            assert measure.value in numbers_said(claim.text), claim.text
            for share in re.findall(r"(\d+) %", claim.text):
                assert measure.denominator is not None
                assert int(share) == round(100 * measure.value / measure.denominator), claim.text


def test_every_statement_cites_what_was_retrieved(corpus: Corpus) -> None:
    for line in corpus.drafts:
        evidence = line["evidence"]

        assert 5 <= len(evidence) <= 8, line["id"]
        assert len(set(evidence)) == len(evidence), line["id"]
        assert corpus.hostile.isdisjoint(evidence), line["id"]
        assert {c["doc_id"] for c in cited(line)} <= set(evidence), line["id"]
        assert all(claim["citations"] or claim["kind"] == "measure" for claim in line["claims"]), line["id"]


def test_half_of_the_statements_share_few_words_with_what_they_cite(corpus: Corpus) -> None:
    shares = [
        shared_words(claim, language(good, claim.citations[0].evidence_id))
        for good in corpus.built
        for claim in good.draft.claims
        if claim.kind is ClaimKind.STATEMENT
    ]

    assert sum(share < LITTLE_SHARED for share in shares) / len(shares) >= 0.5


def test_every_figure_of_a_statement_is_cited_or_dates_its_record(corpus: Corpus) -> None:
    unfounded = []
    for good in corpus.built:
        by_id = {e.citation_id: e for e in good.evidence}
        for claim in good.draft.claims:
            if claim.kind is not ClaimKind.STATEMENT:
                continue
            told = " ".join(c.quote for c in claim.citations)
            dates = " ".join(
                f"{by_id[c.evidence_id].occurred_at:%d %Y} {by_id[c.evidence_id].label}" for c in claim.citations
            )
            figures = re.findall(r"\d+(?:[.,:]\d+)*", claim.text)
            unfounded += [(f, claim.text) for f in figures if f not in told and f not in dates.split()]

    assert not unfounded


def cited(line: dict) -> list[dict]:
    return [citation for claim in line["claims"] for citation in claim["citations"]]


def numbers_said(text: str) -> set[float]:
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    bare = re.sub(rf"“[^”]*”|\d+ %|(?:{months}) \d{{4}}", "", text)
    return {float(n) for n in re.findall(r"\d+", bare)}
