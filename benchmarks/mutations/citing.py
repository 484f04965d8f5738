"""Spoil what a claim rests on: whose words, which record, whether they were retrieved, and character by character."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from answering.domain.claims import Citation, Claim, ClaimKind, Evidence
from benchmarks.mutations.drafts import Built, Corpus
from benchmarks.mutations.spoiling import (
    Spoiled,
    cited,
    cited_text,
    claims_in_turn,
    cut,
    evidence_by_id,
    language_of,
    lowered,
    next_id,
    overlap,
    sentence_spans,
    shuffled,
    some_span,
    spoiled,
    without_stop,
)

_TELLING: Final = (ClaimKind.STATEMENT, ClaimKind.QUOTE)
_ANOTHERS_WORDS_AT_MOST: Final = 0.34


def claims_welded(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Weld a claim about another record to a true one, with the citations of the true one only."""
    for claim in claims_in_turn(good, rng):
        language = language_of(good, claim)
        for other in _claims_elsewhere(good, claim, corpus, rng):
            first, second = without_stop(claim.text), without_stop(other.text)
            forms = _WELDS if language == "en" else _OTHER_WELDS.get(language, ("{a}; {b}.",))
            text = rng.choice(forms).format(
                a=first,
                b=second,
                a_within=lowered(first, language),
                b_within=lowered(second, language),
                whole=claim.text,
            )
            note = f"{other.text!r} welded to {claim.text!r}"
            return spoiled("claims_welded", good, replace(claim, text=text), note)
    return None


def neighbour_citation(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Cite another retrieved record, exactly, that doesn't say it."""
    for claim in claims_in_turn(good, rng, *_TELLING):
        mine = {e.document_id for e in cited(good, claim)}
        for record in shuffled(good.evidence, rng):
            if record.document_id in mine or not _says_else(record, claim, good, corpus):
                continue
            citation = some_span(record, rng)
            note = f"cites {record.document_id} in place of {', '.join(sorted(mine))}"
            return spoiled("neighbour_citation", good, replace(claim, citations=(citation,)), note)
    return None


def other_packet_citation(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Take a claim and its citations from another draft, whose records this one didn't retrieve."""
    here = {e.document_id for e in good.evidence}
    claim = next(claims_in_turn(good, rng, *_TELLING), None)
    if claim is None:
        return None
    for other in shuffled(corpus.built, rng)[:40]:
        theirs = evidence_by_id(other)
        for borrowed in claims_in_turn(other, rng, *_TELLING):
            documents = [theirs[c.evidence_id].document_id for c in borrowed.citations]
            if any(not here.isdisjoint({d, *corpus.twins.get(d, ())}) for d in documents):
                continue
            form = rng.choice(("as numbered there", "beyond the packet", "by document"))
            citations = tuple(_renumbered(c, theirs, good, form) for c in borrowed.citations)
            new = replace(borrowed, id=claim.id, citations=citations)
            note = f"{form}: cites {', '.join(documents)}, never retrieved here"
            return spoiled("other_packet_citation", good, new, note)
    return None


def other_tenant_citation(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Cite, under a citation id of this tenant, what another tenant's record of the same id says."""
    claim = next(claims_in_turn(good, rng, *_TELLING), None)
    if claim is None:
        return None
    record = rng.choice(cited(good, claim))
    theirs, told = rng.choice(_TENANTS_TEXTS)
    start, end = rng.choice([(0, len(theirs)), *sentence_spans(theirs)])
    citation = Citation(record.citation_id, start, end, theirs[start:end])
    forms = [
        replace(claim, kind=ClaimKind.QUOTE, text=citation.quote, citations=(citation,)),
        replace(
            claim,
            kind=ClaimKind.STATEMENT,
            text=told,
            citations=(replace(citation, start=0, end=len(theirs), quote=theirs),),
        ),
        replace(claim, kind=ClaimKind.STATEMENT, citations=(citation,), text=_statement_of(good, claim)),
    ]
    note = f"{record.document_id} as another tenant has it: {citation.quote!r}"
    return spoiled("other_tenant_citation", good, rng.choice(forms), note)


def unknown_id(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Cite under an id that the packet doesn't have, in place of the true one or beside it."""
    claim = next(claims_in_turn(good, rng, *_TELLING), None)
    if claim is None:
        return None
    at = rng.randrange(len(claim.citations))
    old = claim.citations[at]
    number = old.evidence_id[1:]
    new = rng.choice(
        ("C99", f"C{len(good.evidence) + 1}", "C0", f"C0{number}", f"c{number}", number, "", f"[{number}]", f"C{number} ",
         f"D{number}", evidence_by_id(good)[old.evidence_id].document_id, "LB-T-9999", f"C{number}00")
    )  # fmt: skip
    false = replace(old, evidence_id=new)
    if rng.random() < 0.25:
        citations = (*claim.citations, false)
    else:
        citations = (*claim.citations[:at], false, *claim.citations[at + 1 :])
    return spoiled("unknown_id", good, replace(claim, citations=citations), f"{old.evidence_id!r} -> {new!r}")


def lookalike_id(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Cite under an id that only looks like the true one."""
    claim = next(claims_in_turn(good, rng, *_TELLING), None)
    if claim is None:
        return None
    at = rng.randrange(len(claim.citations))
    old = claim.citations[at]
    new = rng.choice(_LOOKALIKES)(old.evidence_id)
    citations = (*claim.citations[:at], replace(old, evidence_id=new), *claim.citations[at + 1 :])
    note = f"{old.evidence_id} -> {new.encode('unicode_escape').decode()}"
    return spoiled("lookalike_id", good, replace(claim, citations=citations), note)


def duplicate_padding(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Pad with what is there already: the same span again, a piece of it, or the same claim again."""
    claim = next(claims_in_turn(good, rng, *_TELLING), None)
    if claim is None:
        return None
    old = rng.choice(claim.citations)
    form = rng.choice(("citation again", "citation again and again", "piece of the citation", "claim again"))
    if form == "claim again":
        again = replace(claim, id=next_id(good))
        return spoiled("duplicate_padding", good, again, f"claim {claim.id} said again as claim {again.id}")
    if form == "piece of the citation":
        middle = old.quote.find(" ", len(old.quote) // 2)
        if middle < 1:
            form = "citation again"
        else:
            piece = cut(evidence_by_id(good)[old.evidence_id], old.start, old.start + middle)
            return spoiled("duplicate_padding", good, replace(claim, citations=(*claim.citations, piece)), form)
    more = (old,) * (rng.randint(2, 5) if form == "citation again and again" else 1)
    return spoiled("duplicate_padding", good, replace(claim, citations=(*claim.citations, *more)), form)


def quote_altered(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Change one character of a quotation: of the claim that is one, or of the words that a statement cites."""
    for claim in claims_in_turn(good, rng, ClaimKind.QUOTE, *_TELLING):
        at = rng.randrange(len(claim.citations))
        old = claim.citations[at]
        altered = _altered(old.quote, rng)
        if altered is None:
            continue
        citation = replace(old, quote=altered)
        if claim.kind is ClaimKind.QUOTE and rng.random() < 0.5:
            new = replace(claim, text=altered)
        elif claim.kind is ClaimKind.QUOTE:
            new = replace(claim, text=altered, citations=(citation,))
        else:
            new = replace(claim, citations=(*claim.citations[:at], citation, *claim.citations[at + 1 :]))
        return spoiled("quote_altered", good, new, f"{old.quote!r} -> {altered!r}")
    return None


def quote_stitched(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Quote as one what stands apart in a record, or in two."""
    for claim in claims_in_turn(good, rng, *_TELLING):
        record = rng.choice(cited(good, claim))
        parts = _parts_apart(record, rng)
        if parts is None:
            continue
        (a, b), (c, d) = parts
        first, second = record.text[a:b], record.text[c:d]
        joint = rng.choice((" ", " ", ", "))
        if rng.random() < 0.25 and (
            others := [e for e in good.evidence if e.language == record.language and e != record]
        ):
            other = rng.choice(others)
            second = other.text[: _word_end(other.text, 40)]
        text = without_stop(first.rstrip(",;:")) + joint + second if joint != " " else f"{first} {second}"
        if text in record.text:
            continue
        citation = rng.choice(
            (
                Citation(record.citation_id, a, d, text),
                cut(record, a, d),
                Citation(record.citation_id, a, a + len(text), text),
            )
        )
        new = replace(claim, kind=ClaimKind.QUOTE, text=text, citations=(citation,))
        return spoiled("quote_stitched", good, new, f"{first!r} + {second!r} of {record.document_id}")
    return None


_WELDS: Final = (
    "{a}, and {b_within}.",
    "{a}; {b_within}.",
    "{a}, while {b_within}.",
    "{b}, and {a_within}.",
    "{whole} {b}.",
    "Not only is it so that {a_within}, but also that {b_within}.",
)
_OTHER_WELDS: Final = {"de": ("{a}, und {b_within}.", "{whole} {b}."), "es": ("{a}, y {b_within}.", "{whole} {b}.")}


def _claims_elsewhere(good: Built, claim: Claim, corpus: Corpus, rng: random.Random) -> Iterator[Claim]:
    """Yield statements about other records, of this draft and of others, that the claim's citations don't support."""
    mine = {e.document_id for e in cited(good, claim)}
    mine |= {twin for doc_id in mine for twin in corpus.twins.get(doc_id, ())}
    language = language_of(good, claim)
    others = shuffled(corpus.built, rng)[:30]
    for other in (good, *others) if rng.random() < 0.5 else (*others, good):
        for candidate in claims_in_turn(other, rng):
            if (
                language_of(other, candidate) == language
                and mine.isdisjoint(e.document_id for e in cited(other, candidate))
                and not re.match(r"(?:It|They|Both|All three|The second|The third|For them|Its)\b", candidate.text)
                and overlap(candidate.text, cited_text(claim), language) < _ANOTHERS_WORDS_AT_MOST
            ):
                yield candidate


def _says_else(record: Evidence, claim: Claim, good: Built, corpus: Corpus) -> bool:
    """Tell whether a record can't support the claim: no twin of what it cites, another account, other words."""
    records = cited(good, claim)
    mine = {e.document_id for e in records}
    return (
        mine.isdisjoint(corpus.twins.get(record.document_id, ()))
        and (record.account is None or record.account not in {e.account for e in records})
        and record.person not in {e.person for e in records}
        and overlap(claim.text, record.text, language_of(good, claim)) <= _ANOTHERS_WORDS_AT_MOST
    )


def _renumbered(citation: Citation, theirs: dict[str, Evidence], good: Built, form: str) -> Citation:
    if form == "beyond the packet":
        return replace(citation, evidence_id=f"C{len(good.evidence) + int(citation.evidence_id[1:])}")
    if form == "by document":
        return replace(citation, evidence_id=theirs[citation.evidence_id].document_id)
    return citation


def _statement_of(good: Built, claim: Claim) -> str:
    """Return the claim's text, for a quotation the words that introduce it."""
    if claim.kind is ClaimKind.QUOTE:
        return f"A customer writes: {claim.text}"
    return claim.text


_LOOKALIKES: Final = (
    lambda i: "\u0421" + i[1:],  # Cyrillic
    lambda i: "\u03f9" + i[1:],  # Greek
    lambda i: "\uff23" + i[1:],  # full width
    lambda i: "\u2102" + i[1:],  # double-struck
    lambda i: "\u216d" + i[1:],  # Roman numeral
    lambda i: "C" + "".join(chr(0xFF10 + int(d)) for d in i[1:]),  # full-width digits
    lambda i: "C" + "".join(chr(0x0660 + int(d)) for d in i[1:]),  # Arabic-Indic digits
    lambda i: "C" + "".join(chr(0x1D7CE + int(d)) for d in i[1:]),  # mathematical digits
    lambda i: i + "\u200b",
    lambda i: "C\u2060" + i[1:],
    lambda i: i + "\u0332",
    lambda i: "\u202d" + i,
)

# Records of a hotel, with a statement that each supports.
_TENANTS_TEXTS: Final = (
    ("The pool was shut for our whole stay and nobody at the desk could say why.", "The pool was shut for a guest's whole stay."),
    ("Room 214 had no hot water on two of three mornings.", "Room 214 lacked hot water on two of three mornings."),
    ("Breakfast ends at 9:30, which is early for a holiday. The waffles were superb.", "Breakfast ends at 9:30."),
    ("The lift broke down twice while we were there. My father is 84.", "The lift broke down twice during one stay."),
    ("We paid $410 for a sea view and looked at a car park.", "A sea view for $410 turned out to be a car park."),
    ("Checking in took forty minutes. The clerk, Ramón, apologised.", "Checking in took forty minutes."),
    ("The minibar charged me for two bottles of water that I never touched.", "A guest was charged for two untouched bottles."),
    ("Quiet rooms, thick curtains, slept like a stone. We'll be back in May.", "A guest slept well and means to return in May."),
    ("El aire acondicionado no funcionó en toda la semana.", "El aire acondicionado no funcionó durante la semana."),
    ("Das WLAN reichte nicht bis in den dritten Stock.", "Im dritten Stock gab es kein WLAN."),
)  # fmt: skip


def _altered(quote: str, rng: random.Random) -> str | None:
    """Change one character to another that a reader can tell from it."""
    letters = [i for i, c in enumerate(quote) if c.isalnum()]
    if len(letters) < 4:
        return None
    at = rng.choice(letters)
    old = quote[at]
    if old.isdigit():
        new = str((int(old) + rng.randint(1, 9)) % 10)
    elif rng.random() < 0.25:
        new = rng.choice(("", old * 2))
    else:
        new = rng.choice([c for c in "abcdefghiklmnoprstuvw" if c != old.lower()])
        new = new.upper() if old.isupper() else new
    return quote[:at] + new + quote[at + 1 :]


def _parts_apart(record: Evidence, rng: random.Random) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return two spans of a record with words between them: two sentences, or parts of one or two."""
    spans = sentence_spans(record.text)
    if len(spans) > 2 and rng.random() < 0.6:
        first = rng.randrange(len(spans) - 2)
        return spans[first], spans[rng.randrange(first + 2, len(spans))]
    words = [m.span() for m in re.finditer(r"\S+", record.text)]
    if len(words) < 10:
        return None
    third = len(words) // 3
    gap = rng.randint(1, max(1, third - 2))
    return (words[0][0], words[third - 1][1]), (words[third + gap][0], words[min(len(words), 2 * third + gap) - 1][1])


def _word_end(text: str, about: int) -> int:
    end = text.find(" ", about)
    return end if end > 0 else len(text)
