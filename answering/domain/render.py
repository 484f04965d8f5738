"""Write checked claims out: for agents as text with markers, for people as Markdown with footnotes.

The words of records are hostile: here they become text that no Markdown reader acts on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from answering.domain.claims import MARKER, Citation, Claim, ClaimKind, Evidence, Point, PointKind, number_citations

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_FALSE_MARKS: Final = {ord(mark): f"^{digit}" for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_INVISIBLE: Final = re.compile(
    r"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ACTIVE: Final = re.compile(r"[\\`*_{}\[\]|~^$]|^[#+\-=]")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_ENTITY: Final = re.compile("[" + "".join(_ENTITIES) + "]")
_BARE_LINK: Final = re.compile(r"(?:(?<=mailto)|(?<=xmpp)):|:(?=//)|(?<=\bwww)\.", re.IGNORECASE)
_ORDERED_ITEM: Final = re.compile(r"^(\d{1,9})([.)])")


def answer_text(claims: Sequence[Claim]) -> str:
    """Join the claims' texts by one space, each followed at once by the markers of its citations.

    Without what matches `MARKER` the result is exactly the claims' texts.
    Raises: ValueError when a claim's own text holds a marker; grounding fails such a claim before.
    """
    numbered = number_citations(claims)
    written = []
    for claim, ids in zip(numbered.claims, numbered.ids, strict=True):
        if MARKER.search(claim.text):
            raise ValueError(f"the text of claim {claim.id} holds a citation marker of its own")
        written.append(claim.text + "".join(f"{{{{{label}}}}}" for label in ids))
    return " ".join(written)


def markdown(
    claims: Sequence[Claim], evidence: Sequence[Evidence], *, points: Sequence[Point] = (), with_uids: bool = False
) -> str:
    """Write the claims with superscript numbers and a table of footnotes: label, locator, date.

    Number n stands for citation Cn of `number_citations`. Quotes stand in quotation marks, those of a point in a list
    below its heading.
    """
    numbered = number_citations(claims)
    by_id = {e.citation_id: e for e in evidence}
    counted = {claim for point in points if point.kind is PointKind.NEAR_DUPLICATES for claim in point.claims}
    listed = {claim for point in points for claim in point.claims if claim != point.heading}
    begins = {point.claims[0] for point in points if point.claims}
    body = ""
    for claim, ids in zip(numbered.claims, numbered.ids, strict=True):
        text = escape(claim.text)
        if claim.kind is ClaimKind.QUOTE:
            text = f"“{text}”"
        marks = " ".join(label[1:].translate(_SUPERSCRIPTS) for label in ids)
        item = "- " if claim.id in listed else ""
        # An item follows the one before it without a gap, but for the first of a list.
        gap = "\n" if item and claim.id not in begins and body.rpartition("\n")[2].startswith("- ") else "\n\n"
        body += (gap if body else "") + item + text + marks + (_merged_note(claim) if claim.id not in counted else "")
    if not numbered.citations:
        return body
    head = ["", "record", "locator", "date"] + (["uid"] if with_uids else [])
    rows = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for label, citation in numbered.citations:
        source = by_id[citation.evidence_id]
        cells = [
            label[1:].translate(_SUPERSCRIPTS),
            escape(source.label),
            escape(locator(source, citation)),
            day(source.occurred_at) if source.occurred_at else "undated",
        ]
        if with_uids:
            cells.append(escape(source.page_uid or source.passage_id))
        rows.append(f"| {' | '.join(cells)} |")
    return body + "\n\n" + "\n".join(rows)


def escape(text: str) -> str:
    """Make a text inert for Markdown and HTML on one line: it is shown as it reads and does nothing.

    Controls and invisible direction marks are dropped, white space is collapsed, superscript digits
    become ^n so that none passes for a footnote of ours.
    """
    flat = " ".join(_INVISIBLE.sub("", text).split())
    marked = _ACTIVE.sub(r"\\\g<0>", flat.translate(_FALSE_MARKS))
    inert = _ENTITY.sub(lambda m: _ENTITIES[m.group()], marked)
    unlinked = _BARE_LINK.sub(lambda m: f"&#{ord(m.group())};", inert)
    return _ORDERED_ITEM.sub(r"\1\\\2", unlinked)


def on_one_line(text: str) -> str:
    """Return a text for a terminal: controls and invisible direction marks dropped, white space collapsed."""
    return " ".join(_INVISIBLE.sub("", text).split())


def terminal(answer: Mapping[str, Any]) -> list[str]:
    """Write an answer of the contract's shape as lines for a terminal, the sources below it."""
    if answer["refusal"]:
        return [answer["answer"], "", *_terminal_refusal(answer["refusal"])]
    claims = {claim["id"]: claim for claim in answer["claims"]}
    lines = []
    for point in answer.get("points") or [{"heading": None, "claims": [claim]} for claim in claims]:
        lines += [
            ("- " if answer.get("points") and claim != point["heading"] else "") + _terminal_claim(claims[claim])
            for claim in point["claims"]
        ]
        lines.append("")
    lines += [on_one_line(f"Not answered: {each['message']}.") for each in answer.get("not_answered", ())]
    if answer.get("not_answered"):
        lines.append("")
    for citation in answer["citations"]:
        where = f"{citation['doc_id']}, characters {citation['start']}–{citation['end']}"
        lines.append(on_one_line(f"[{citation['id'][1:]}] {citation['doc_label']} · {where}"))
    return lines


def _terminal_claim(claim: Mapping[str, Any]) -> str:
    text = on_one_line(claim["text"])
    marks = " " + " ".join(f"[{label[1:]}]" for label in claim["citations"]) if claim["citations"] else ""
    if claim["kind"] != ClaimKind.QUOTE:
        return f"{text}{marks}"
    said = f" ({claim['measure']['value']} records say this)" if claim["measure"] else ""
    return f"“{text}”{marks}{said}"


def _terminal_refusal(refusal: Mapping[str, Any]) -> list[str]:
    lines = [f"{refusal['message'][:1].upper()}{refusal['message'][1:]}."]
    if refusal["floor"] is not None and refusal["value"] is not None:
        lines[0] += f" At least {refusal['floor']:g} is needed."
    if refusal["nearest_topics"]:
        lines.append("The corpus does hold:")
        lines += [f"- {on_one_line(topic['theme'])}: {topic['count']:,} records" for topic in refusal["nearest_topics"]]
    if refusal["suggestions"]:
        lines.append("What can be answered:")
        for suggestion in refusal["suggestions"]:
            filters = json.dumps(suggestion["filters"], ensure_ascii=False) if suggestion["filters"] else "no filter"
            asked = f"“{suggestion['question']}” with " if suggestion.get("question") else "the same with "
            lines.append(on_one_line(f"- {asked}{filters}: {suggestion['count']:,} records"))
    return lines


def locator(evidence: Evidence, citation: Citation) -> str:
    """Say where in the record the cited words stand, in the finest terms that the record has."""
    if evidence.page_no is not None:
        return f"{evidence.document_id}, page {evidence.page_no}"
    if evidence.lines is not None:
        first, last = evidence.lines
        return f"{evidence.document_id}, " + (f"line {first}" if first == last else f"lines {first}–{last}")
    return f"{evidence.document_id}, characters {citation.start}–{citation.end}"


def record_label(
    *,
    source: str,
    account: str | None,
    occurred_at: datetime | None,
    attribution: str | None = None,
    is_dated: bool = True,
) -> str:
    """Name a record to a reader: "survey · NEAS · 30 Sep 2021".

    An undated record bears the day of its receipt and says so.
    """
    parts = [attribution or source.replace("_", " "), account or ""]
    if occurred_at is not None:
        parts.append(day(occurred_at) if is_dated else f"received {day(occurred_at)}")
    return " · ".join(part for part in parts if part)


def filing_label(*, ticker: str, content_type: str, fiscal_year: int, fiscal_quarter: int | None) -> str:
    """Name a filing: "NVDA 10-Q Q3 FY-24", without a quarter "NVDA 10-K FY-24"."""
    quarter = f" Q{fiscal_quarter}" if fiscal_quarter else ""
    return f"{ticker} {content_type}{quarter} FY-{fiscal_year % 100:02d}"


def day(moment: datetime) -> str:
    """Write a date as "30 Sep 2021", the same under every locale."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def _merged_note(claim: Claim) -> str:
    """Say how many records and accounts stand behind a quote that several records share."""
    if claim.kind is not ClaimKind.QUOTE or claim.merged_count < 2 or claim.measure is None:
        # A count whose query went with a citation that repair took out is bound to nothing.
        return ""
    accounts = claim.measure.accounts
    whose = f" from {accounts} account{'s' if accounts != 1 else ''}" if accounts else ""
    return f" *({claim.merged_count} records{whose} say this)*"
