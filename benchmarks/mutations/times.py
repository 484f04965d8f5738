"""Spoil when something was: a date, or the period that was asked about."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from answering.domain.claims import ClaimKind
from benchmarks.mutations.drafts import Built, Corpus
from benchmarks.mutations.spoiling import (
    Spoiled,
    cited,
    cited_text,
    claims_in_turn,
    language_of,
    lowered,
    reworded,
    says,
    shuffled,
    spoiled,
    without_stop,
)

MONTHS: Final = (
    "January February March April May June July August September October November December".split(),
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)

_DAYS: Final = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "lunes martes miércoles jueves viernes sábado domingo".split(),
)

ANY_MONTH: Final = "|".join(sorted({m for names in MONTHS for m in names}, key=len, reverse=True))


def date_shifted(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Move a day, a weekday, a month or a year."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        names = _moved_names(claim.text, _LANGUAGES.get(language_of(good, claim), 0), rng)
        moves = [*_moved_days(claim.text, rng), *names, *_moved_years(claim.text, rng)]
        for start, end, new in shuffled(moves, rng):
            if says(cited_text(claim), new) or says(claim.text, new):
                continue
            text = claim.text[:start] + new + claim.text[end:]
            return reworded("date_shifted", good, claim, text, f"{claim.text[start:end]!r} -> {new!r} in {text!r}")
    return None


def out_of_window_date(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Say of a period what the cited record reports of another, or keep a record from outside of the asked window."""
    for claim in claims_in_turn(good, rng):
        language = language_of(good, claim)
        moments = [e.occurred_at for e in cited(good, claim) if e.occurred_at is not None]
        months = [(2025, m) for m in range(5, 13)] + [(2026, m) for m in range(1, 11)]
        own = {m for moment in moments for m in _around(moment)}
        free = [m for m in months if m not in own and not _is_named(m[1], f"{claim.text} {cited_text(claim)}")]
        if language not in _PERIODS or not free:
            continue
        year, month = rng.choice(free)
        window = (_month_start(year, month), _month_start(year + month // 12, month % 12 + 1))
        if rng.random() < 0.2:
            note = f"asked of {year}-{month:02}, cites a record of {moments[0]:%Y-%m-%d}"
            return spoiled("out_of_window_date", good, claim, note, occurred_from=window[0], occurred_to=window[1])
        text = _said_of(claim.text, language, year, month, rng)
        return spoiled(
            "out_of_window_date",
            good,
            replace(claim, text=text),
            f"record of {moments[0]:%Y-%m-%d}: {text!r}",
            occurred_from=window[0],
            occurred_to=window[1],
        )
    return None


def _moved_days(text: str, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(rf"(?<![\d.:£€$])(\d{{1,2}})(?=(?:\.)? (?:de )?(?:{ANY_MONTH})\b)", text):
        yield match.start(1), match.end(1), str((int(match[1]) + rng.randint(1, 9) - 1) % 28 + 1)
    for match in re.finditer(r"\b(\d{1,2})(st|nd|rd|th)\b", text):
        day = (int(match[1]) + rng.randint(1, 9) - 1) % 28 + 1
        yield (
            match.start(),
            match.end(),
            f"{day}{ {1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd'}.get(day, 'th') }",
        )


def _moved_names(text: str, language: int, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    for names in (MONTHS[language], _DAYS[language]):
        for match in re.finditer(rf"\b(?:{'|'.join(names)})\b", text):
            if match.group() == "May" and match.start() == 0:
                continue
            before = text[: match.start()]
            if re.search(r"“[^”]*$", before):
                continue
            index = names.index(match.group())
            yield match.start(), match.end(), names[(index + rng.randint(1, len(names) - 1)) % len(names)]


def _moved_years(text: str, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(r"\b20(?:24|25|26)\b", text):
        yield match.start(), match.end(), str(int(match.group()) + rng.choice((-2, -1, 1)))


_PERIODS: Final = {
    "en": ("In {month} {year}, {text}", "{text}, in {month} {year}.", "{text}; that was in {month} {year}."),
    "de": ("{text}, und zwar im {month} {year}.",),
    "es": ("En {month} de {year}, {text}", "{text}, en {month} de {year}."),
}

_LANGUAGES: Final = {"en": 0, "de": 1, "es": 2}


def _said_of(text: str, language: str, year: int, month: int, rng: random.Random) -> str:
    dated = re.search(rf"\b(?:{ANY_MONTH}) (?:de )?20\d\d\b", text)
    name = MONTHS[_LANGUAGES[language]][month - 1]
    if dated:  # a second period beside the true one would only contradict it
        moved = text[: dated.start()] + f"{name} {year}" + text[dated.end() :]
        return re.sub(rf"\b\d{{1,2}} (?={name} {year})", "1 ", moved)
    form = rng.choice(_PERIODS[language])
    said = lowered(text) if form.endswith("{text}") else without_stop(text)
    return form.format(month=name, year=year, text=said)


def _around(moment: datetime) -> list[tuple[int, int]]:
    """Return the month of a record and those beside it, of which it may speak too."""
    count = moment.year * 12 + moment.month - 1
    return [((count + step) // 12, (count + step) % 12 + 1) for step in (-1, 0, 1)]


def _is_named(month: int, text: str) -> bool:
    return any(says(text, names[month - 1]) or says(text, names[month - 1][:3]) for names in MONTHS)


def _month_start(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)
