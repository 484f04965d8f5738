"""Good drafts over the demo corpus, and the ways to spoil one: rules, each deterministic for a seed.

A rule takes a draft as `drafts.build` makes it, the corpus and a random generator, and returns the spoiled draft or
None where it doesn't apply. Nothing here knows how claims are checked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.mutations.citing import (
    claims_welded,
    duplicate_padding,
    lookalike_id,
    neighbour_citation,
    other_packet_citation,
    other_tenant_citation,
    quote_altered,
    quote_stitched,
    unknown_id,
)
from benchmarks.mutations.drafts import Built, Corpus, build, load
from benchmarks.mutations.figures import (
    false_denominator,
    number_off_by_one,
    quantifier_raised,
    unit_swapped,
)
from benchmarks.mutations.hostile import empty_claim, injected_instruction, markup, repeats_question
from benchmarks.mutations.names import entity_swapped, invented_account
from benchmarks.mutations.spoiling import Rule, Spoiled
from benchmarks.mutations.times import date_shifted, out_of_window_date
from benchmarks.mutations.wording import cause_invented, direction_reversed, negation_flipped, superlative_added

RULES: Final[Mapping[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        number_off_by_one,
        unit_swapped,
        negation_flipped,
        date_shifted,
        quantifier_raised,
        entity_swapped,
        direction_reversed,
        claims_welded,
        neighbour_citation,
        other_packet_citation,
        other_tenant_citation,
        unknown_id,
        lookalike_id,
        duplicate_padding,
        quote_altered,
        quote_stitched,
        empty_claim,
        repeats_question,
        injected_instruction,
        markup,
        invented_account,
        false_denominator,
        superlative_added,
        cause_invented,
        out_of_window_date,
    )
}


def mutations(kind: str, corpus: Corpus, *, seed: int) -> Iterator[tuple[str, Spoiled]]:
    """Yield each good draft's id with the draft spoiled in this way, where the rule applies.

    Each draft has a generator of its own, so that a draft more or less leaves the others as they are.
    """
    for line, good in zip(corpus.drafts, corpus.built, strict=True):
        made = RULES[kind](good, corpus, random.Random(f"{seed}/{kind}/{line['id']}"))
        if made is not None:
            yield line["id"], made


__all__ = ["RULES", "Built", "Corpus", "Rule", "Spoiled", "build", "load", "mutations"]
