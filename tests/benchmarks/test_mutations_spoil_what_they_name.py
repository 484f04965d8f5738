"""Each rule spoils one claim of a draft in the way that it names, the same way for the same seed."""

import re
from collections.abc import Iterator

import pytest

from answering.domain.claims import Claim, ClaimKind
from benchmarks.mutations import RULES, Spoiled, load, mutations
from benchmarks.mutations.drafts import Built, Corpus

KINDS = """number_off_by_one unit_swapped negation_flipped date_shifted quantifier_raised entity_swapped
    direction_reversed claims_welded neighbour_citation other_packet_citation other_tenant_citation unknown_id
    lookalike_id duplicate_padding quote_altered quote_stitched empty_claim repeats_question injected_instruction
    markup invented_account false_denominator superlative_added cause_invented out_of_window_date""".split()
FEWEST_DRAFTS = 40
OTHER_WORDS = [
    "number_off_by_one", "unit_swapped", "negation_flipped", "date_shifted", "quantifier_raised", "entity_swapped",
    "direction_reversed", "claims_welded", "empty_claim", "repeats_question", "injected_instruction", "markup",
    "invented_account", "false_denominator", "superlative_added", "cause_invented",
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load()


@pytest.fixture(scope="module")
def spoiled(corpus: Corpus) -> dict[str, list[tuple[str, Spoiled]]]:
    return {kind: list(mutations(kind, corpus, seed=1)) for kind in RULES}


@pytest.fixture(scope="module")
def good(corpus: Corpus) -> dict[str, Built]:
    return {line["id"]: built for line, built in zip(corpus.drafts, corpus.built, strict=True)}


def claims_before_and_after(
    kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> Iterator[tuple[Claim, Claim]]:
    for draft_id, made in spoiled[kind]:
        before = next((c for c in good[draft_id].draft.claims if c.id == made.claim_id), None)
        if before is not None:
            yield before, made.claim


def test_there_are_25_rules() -> None:
    assert list(RULES) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_applies_to_enough_drafts(kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]]) -> None:
    assert len(spoiled[kind]) >= FEWEST_DRAFTS
    assert {made.kind for _, made in spoiled[kind]} == {kind}
    assert len({made.claim.text for _, made in spoiled[kind]}) > 8


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_spoils_alike_and_another_differently(
    kind: str, corpus: Corpus, spoiled: dict[str, list[tuple[str, Spoiled]]]
) -> None:
    again = list(mutations(kind, corpus, seed=1))
    other = list(mutations(kind, corpus, seed=2))

    assert again == spoiled[kind]
    assert other != spoiled[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_one_claim_is_spoiled_and_the_others_stay(
    kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    for draft_id, made in spoiled[kind]:
        before = good[draft_id]
        others = [c for c in before.draft.claims if c.id != made.claim_id]

        assert [c for c in made.draft.claims if c.id != made.claim_id] == others
        assert made.claim not in before.draft.claims or made.occurred_from is not None
        assert made.evidence[: len(before.evidence)] == tuple(before.evidence)
        assert made.note


@pytest.mark.parametrize("kind", OTHER_WORDS)
def test_the_words_of_the_claim_differ(
    kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    assert all(before.text != after.text for before, after in claims_before_and_after(kind, spoiled, good))


def test_a_number_moves_and_the_rest_stays(
    spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    for before, after in claims_before_and_after("number_off_by_one", spoiled, good):
        old, new = before.text.split(), after.text.split()

        assert len(old) == len(new)
        assert sum(a != b for a, b in zip(old, new, strict=True)) == 1, (before.text, after.text)


def test_an_entity_is_one_that_the_cited_records_do_not_name(
    spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    for before, after in claims_before_and_after("entity_swapped", spoiled, good):
        told = re.findall(r"\w+", f"{before.text} {' '.join(c.quote for c in before.citations)}")
        new = set(re.findall(r"\w+", after.text)) - set(told)

        assert before.citations == after.citations
        assert new or before.measure, (before.text, after.text)


def test_an_invented_account_is_nowhere_in_the_corpus(
    corpus: Corpus, spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    everything = " ".join(f"{r['text']} {r.get('account')}" for r in corpus.records.values())
    invented = (
        "Ashworth|Pellinore|Danvers|Thackeray|Moreau|Lindemann|Kessler|Brandl|Cifuentes|Olmedo|Zubiri|Copperfield"
    )
    invented += "|Finch & Sons|Bramble Court|Old Mill Canteen|Quayside"

    assert not re.search(invented, everything)
    assert all(
        re.search(invented, after.text) for _, after in claims_before_and_after("invented_account", spoiled, good)
    )


def test_a_welded_claim_keeps_the_citations_of_one(
    spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]
) -> None:
    for before, after in claims_before_and_after("claims_welded", spoiled, good):
        assert after.citations == before.citations
        assert len(after.text) > len(before.text) + 15


def test_a_neighbour_is_cited_exactly(spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]) -> None:
    for draft_id, made in spoiled["neighbour_citation"]:
        by_id = {e.citation_id: e for e in good[draft_id].evidence}
        before = next(c for c in good[draft_id].draft.claims if c.id == made.claim_id)

        (citation,) = made.claim.citations
        assert citation.matches(by_id[citation.evidence_id].text)
        assert citation.evidence_id not in {c.evidence_id for c in before.citations}


@pytest.mark.parametrize("kind", ["other_packet_citation", "other_tenant_citation"])
def test_words_from_elsewhere_are_not_those_of_the_evidence(
    kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]]
) -> None:
    for _, made in spoiled[kind]:
        texts = {e.citation_id: e.text for e in made.evidence}

        assert all(c.evidence_id not in texts or not c.matches(texts[c.evidence_id]) for c in made.claim.citations), (
            made.note
        )


@pytest.mark.parametrize("kind", ["unknown_id", "lookalike_id"])
def test_an_id_is_cited_that_the_evidence_does_not_have(
    kind: str, spoiled: dict[str, list[tuple[str, Spoiled]]]
) -> None:
    for _, made in spoiled[kind]:
        known = {e.citation_id for e in made.evidence}

        assert any(c.evidence_id not in known for c in made.claim.citations), made.note


def test_padding_adds_nothing_new(spoiled: dict[str, list[tuple[str, Spoiled]]], good: dict[str, Built]) -> None:
    for draft_id, made in spoiled["duplicate_padding"]:
        before = good[draft_id].draft.claims
        said_again = [c for c in before if c.text == made.claim.text]

        assert said_again
        assert len(made.draft.claims) > len(before) or len(made.claim.citations) > len(said_again[0].citations)


def test_an_altered_or_stitched_quote_is_not_in_the_record(spoiled: dict[str, list[tuple[str, Spoiled]]]) -> None:
    for kind in ("quote_altered", "quote_stitched"):
        for _, made in spoiled[kind]:
            texts = {e.citation_id: e.text for e in made.evidence}
            exact = [c.matches(texts[c.evidence_id]) and c.quote for c in made.claim.citations]
            says_so = made.claim.kind is not ClaimKind.QUOTE or made.claim.text in exact

            assert not (all(exact) and says_so), made.note


def test_a_hostile_record_is_added_and_cited(spoiled: dict[str, list[tuple[str, Spoiled]]]) -> None:
    for _, made in spoiled["injected_instruction"]:
        (citation,) = made.claim.citations

        assert citation.evidence_id == made.evidence[-1].citation_id
        assert citation.matches(made.evidence[-1].text)


def test_a_repeated_question_comes_with_the_question(spoiled: dict[str, list[tuple[str, Spoiled]]]) -> None:
    assert all(made.question for _, made in spoiled["repeats_question"])


def test_a_false_total_is_not_what_counting_gives(
    corpus: Corpus, spoiled: dict[str, list[tuple[str, Spoiled]]]
) -> None:
    measures = [made for _, made in spoiled["false_denominator"] if made.claim.measure is not None]

    assert len(measures) >= 20
    for made in measures:
        counted = made.measures[made.claim_id]
        bare = re.sub(r"“[^”]*”|\d+ %|\b[A-Z][a-z]+ 20\d\d", "", made.claim.text)
        shares = [int(share) for share in re.findall(r"(\d+) %", made.claim.text)]
        whole = counted.denominator or len(corpus.records)
        is_false_share = any(share != round(100 * counted.value / whole) for share in shares)

        assert is_false_share or {int(n) for n in re.findall(r"\d+", bare)} - {counted.value, counted.denominator}, (
            made.note
        )


def test_a_window_does_not_hold_the_cited_record(spoiled: dict[str, list[tuple[str, Spoiled]]]) -> None:
    for _, made in spoiled["out_of_window_date"]:
        assert made.occurred_from is not None
        assert made.occurred_to is not None
        cited = {c.evidence_id for c in made.claim.citations}
        moments = [e.occurred_at for e in made.evidence if e.citation_id in cited]

        assert not any(made.occurred_from <= moment < made.occurred_to for moment in moments if moment), made.note
