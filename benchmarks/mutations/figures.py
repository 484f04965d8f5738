"""Spoil what can be counted: numbers, units, quantifiers and shares."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from answering.domain.claims import Claim, ClaimKind, Measure
from benchmarks.mutations.drafts import Built, Corpus
from benchmarks.mutations.spoiling import (
    Spoiled,
    cited_text,
    claims_in_turn,
    language_of,
    lowered,
    opened,
    reworded,
    says,
    shuffled,
    spoiled,
    without_stop,
)
from benchmarks.mutations.times import ANY_MONTH

_WORDS: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(),
    "first second third fourth fifth sixth seventh eighth ninth tenth".split(),
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn".split(),
    "dos tres cuatro cinco seis siete ocho nueve diez once doce trece".split(),
    "twenty twenty-one".split(),
    "zwanzig einundzwanzig".split(),
    "veinte veintiuno".split(),
    "once twice".split(),
    "zweimal dreimal viermal".split(),
)
_UNTOUCHED_WORDS: Final = frozenset({"one", "first", "once", "second"})
_DATE_BEFORE: Final = re.compile(r"(?:\b(?:the|am|vom|bis|zum|ab|el|del|al|und|and|of)\s)$")
_NUMBER: Final = re.compile(
    r"(?<![\w.,#:_-])(?P<currency>[£€$]?)(?P<n>\d+(?:[.,:]\d+)*)(?P<tail>(?:st|nd|rd|th)\b|)(?![\w_]|[.,:]\d|-\d)"
)
_APPROXIMATE: Final = re.compile(
    r"\b(?:roughly|around|about|some|nearly|almost|over|under|more than|less than|at least|up to|within|average|"
    r"knapp|rund|etwa|casi|unos|unas|cerca de|than|at|app|iOS|in)\s+[£€$]?$"
)
_DATED: Final = re.compile(rf"^\.?\s*(?:de\s+)?(?:{ANY_MONTH})\b")
_AFTER_MONTH: Final = re.compile(rf"\b(?:{ANY_MONTH})\s+(?:de\s+)?$")


def number_off_by_one(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Move a number by one in its last place, an hour by one; approximate ones and dates are left alone."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.MEASURE, ClaimKind.QUOTE):
        for start, end, new in shuffled(list(_near_numbers(claim.text, rng)), rng):
            if claim.measure is None and (says(cited_text(claim), new) or says(cited_text(claim), _in_digits(new))):
                continue
            old = claim.text[start:end]
            text = claim.text[:start] + new + claim.text[end:]
            if claim.measure is not None and old == f"{claim.measure.value:.0f}" and rng.random() < 0.5:
                measure = replace(claim.measure, value=float(new))
                return spoiled(
                    "number_off_by_one", good, replace(claim, text=text, measure=measure), f"value {old} -> {new}"
                )
            return reworded("number_off_by_one", good, claim, text, f"{old!r} -> {new!r} in {text!r}")
    return None


def unit_swapped(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Give a number another unit."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        for pattern, others in shuffled(_UNITS, rng):
            match = re.search(pattern, claim.text)
            if match is None:
                continue
            new = match.expand(rng.choice(others))
            if claim.measure is not None and claim.measure.people == claim.measure.value:
                continue
            if claim.measure is None and says(cited_text(claim), new):
                continue
            text = claim.text[: match.start()] + new + claim.text[match.end() :]
            return reworded("unit_swapped", good, claim, text, f"{match.group()!r} -> {new!r} in {text!r}")
    return None


def quantifier_raised(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Say of most or all what the record says of one or a few."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        if claim.measure is not None:
            text = _most_of(claim, rng)
            if text is not None:
                return reworded("quantifier_raised", good, claim, text)
            continue
        for pattern, others in shuffled(_QUANTIFIERS, rng):
            text, changes = re.subn(pattern, rng.choice(others), claim.text, count=1)
            if changes:
                return reworded("quantifier_raised", good, claim, text)
        language = language_of(good, claim)
        if rng.random() < 0.6 and (text := _said_of_every(claim.text, language, corpus, rng)) is not None:
            return reworded("quantifier_raised", good, claim, text)
        if language in _LIKE_ALL:
            place, words = rng.choice(_LIKE_ALL[language])
            if place == "front" and not re.match(r"The [\w'-]+ household ", claim.text):
                place, words = next(form for form in _LIKE_ALL[language] if form[0] == "end")
            text = words + lowered(claim.text) if place == "front" else f"{without_stop(claim.text)}{words}."
            return reworded("quantifier_raised", good, claim, text)
    return None


def false_denominator(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Give a count a wrong total or a wrong share."""
    for claim in claims_in_turn(good, rng, ClaimKind.MEASURE, ClaimKind.STATEMENT):
        if claim.measure is not None:
            text = _wrong_total(claim, rng)
        elif (match := re.search(r"\b(\d+)((?: out)? of (?:the |its )?|\s(?:von|de) )(\d+)\b", claim.text)) is not None:
            total = int(match[3]) + rng.choice((3, 8, 20))
            text = claim.text[: match.start(3)] + str(total) + claim.text[match.end(3) :]
        else:
            text = _share_put_before(claim.text, language_of(good, claim), rng)
        if text is not None and text != claim.text:
            new = replace(claim, text=text, measure=_with_total_of(text, claim, rng))
            return spoiled("false_denominator", good, new, f"{claim.text!r} -> {text!r}")
    return None


def _near_numbers(text: str, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    """Yield numbers that are facts, each with one next to it."""
    quoted = [m.span() for m in re.finditer(r"“[^”]*”", text)]
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if (
            _DATED.match(after)
            or _AFTER_MONTH.search(before)
            or (_APPROXIMATE.search(before) and not match["currency"])
            or re.search(r"\b(?:roughly|around|about|some|nearly)\s$", before)
            or any(a <= match.start() < b for a, b in quoted)
            or match["tail"]
            or re.match(r"20\d\d$", match["n"])
            or (re.search(r"(?:\d|\bpages)\s(?:to|and|bis|y)\s$", before))
            or re.match(r"\s?(?:to|bis|y|and)\s\d", after)
            or "." in match["n"][match["n"].find(".") + 1 :]
        ):
            continue
        if (
            _DATE_BEFORE.search(before)
            and re.match(r"[.,]?(?:\s|$)", after)
            and int(re.sub(r"\D", "", match["n"])) < 32
        ):
            continue  # may be the day of a month
        yield match.start("n"), match.end("n"), _next_to(match["n"], rng)
    for words in _WORDS:
        for index, word in enumerate(words):
            if word in _UNTOUCHED_WORDS:
                continue
            for match in re.finditer(rf"(?<![\w-]){word}(?![\w-])", text):
                after = text[match.end() :]
                if _APPROXIMATE.search(text[: match.start()]) or after.startswith(" thousand"):
                    continue
                if word == "third" and re.search(r"\ba $", text[: match.start()]) and not re.match(r" \w", after):
                    continue
                others = [words[i] for i in (index - 1, index + 1) if 0 <= i < len(words)]
                if others := [o for o in others if o not in _UNTOUCHED_WORDS or o == "second"]:
                    yield match.start(), match.end(), rng.choice(others)


def _next_to(number: str, rng: random.Random) -> str:
    step = rng.choice((-1, 1))
    clock = re.fullmatch(r"(\d{1,2}):(\d\d)", number)
    if clock:
        hour = (int(clock[1]) + step) % 24
        return f"{hour:0{len(clock[1])}}:{clock[2]}"
    digits = re.sub(r"\D", "", number)
    value = int(digits) + step
    if value < 1 or len(str(value)) != len(str(int(digits))):
        value = 2 * int(digits) - value
    new = f"{value:0{len(digits)}}"
    if len(new) != len(digits):
        return number if "," in number or "." in number else new
    filled = iter(new)
    return "".join(next(filled) if c.isdigit() else c for c in number)


def _in_digits(word: str) -> str:
    """Write a number word in digits, and a number below ten as a word."""
    for words, first in ((_WORDS[0], 1), (_WORDS[2], 2), (_WORDS[3], 2)):
        if word in words:
            return str(words.index(word) + first)
        if word.isdigit() and 0 <= int(word) - first < len(words):
            return words[int(word) - first]
    return word


_FIGURE: Final = r"(?:\d+(?:[.,]\d+)*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
_A_FIGURE: Final = rf"({_FIGURE}|a|an|each|per)"
_UNITS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (r"£(?=\d)", ("€", "$")),
    (r"€(?=\d)", ("£", "$")),
    (r"\$(?=\d)", ("£", "€")),
    (r"(?<=\d) €", (" £", " $")),
    (r"(?<=\d) Euro\b", (" Pfund", " Dollar")),
    (r"(?<=\d) euros\b", (" dólares", " libras")),
    (rf"\b({_FIGURE}) seconds\b", (r"\1 minutes", r"\1 hours")),
    (rf"\b({_FIGURE}) minutes\b", (r"\1 hours", r"\1 seconds", r"\1 days")),
    (r"\b(a) minute\b", (r"\1 week", r"\1 day")),
    (rf"\b({_FIGURE}) (working )?hours\b", (r"\1 \2days", r"\1 \2minutes")),
    (r"\b(an) hour\b", ("a day", "a minute", "a week")),
    (rf"\b({_FIGURE}) (working )?days\b", (r"\1 \2weeks", r"\1 \2hours", r"\1 \2months")),
    (r"\b([Aa]) day\b", (r"\1 week", r"\1 month")),
    (rf"\b({_FIGURE}) weeks\b", (r"\1 months", r"\1 days")),
    (r"\b([Aa]) week\b", (r"\1 month", r"\1 day")),
    (rf"\b({_FIGURE}) months\b", (r"\1 weeks", r"\1 years")),
    (r"\b(a) month\b", (r"\1 week", r"\1 year")),
    (rf"\b({_FIGURE}) years\b", (r"\1 months", r"\1 weeks")),
    (rf"\b({_FIGURE})-(week|month|hour) ", (r"\1-day ", r"\1-minute ")),
    (r"(?<=\d)kg\b", ("g", " lb")),
    (r"(?<=\d)cm\b", ("mm", " inches")),
    (r"(?<=\d)am\b", ("pm",)),
    (r"(?<=\d)pm\b", ("am",)),
    (r"(?<=\d)F\b", ("C",)),
    (r"(?<=\d) degrees\b", (" degrees Fahrenheit", " degrees below zero")),
    (r"(?<=\d)p\b(?= each| away)", (" euros", " pounds")),
    (r"(?<=\d)%(?= of the battery)", (" mAh",)),
    (r"\b(\d+)%(?= (?:increase|dearer))", (r"£\1",)),
    (rf"\b({_FIGURE}|ten) percent\b", (r"\1 pounds", r"\1 items")),
    (rf"\b({_FIGURE}) points\b", (r"\1 pounds", r"\1 euros")),
    (r"(?<=\d) litros\b", (" mililitros", " kilos")),
    (r"\b(\d+|zwei|drei|vier|zwanzig) Minuten\b", (r"\1 Stunden", r"\1 Tage")),
    (r"\b(\d+|zwei|drei|vier|zwanzig) Tagen\b", (r"\1 Wochen", r"\1 Monaten")),
    (r"\b(\d+|zwei|drei|vier|zwanzig) Tage\b", (r"\1 Wochen", r"\1 Monate")),
    (r"\b(zwei|drei|vier) Wochen\b", (r"\1 Tagen", r"\1 Monaten")),
    (r"\beiner Stunde\b", ("einer Woche", "einer Minute")),
    (r"\b(\d+|dos|tres|ocho|veinte) segundos\b", (r"\1 minutos",)),
    (r"\b(\d+|dos|tres|ocho|veinte) días\b", (r"\1 semanas", r"\1 horas")),
    (r"\b(\d+) records\b", (r"\1 customers", r"\1 people")),
    (r"\b(\d+ of (?:the )?\d+) (?:records|surveys|app reviews)\b", (r"\1 customers", r"\1 people")),
)


_ALL_OF: Final = (r"Every \1", r"Nearly every \1", r"Almost every \1")
_QUANTIFIERS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (r"^(?:A|One) ((?:disabled |blind |former |long-standing |carless )?(?:reviewer|customer|shopper|gardener|parent|survey respondent|[a-z-]+ worker))\b(?!')", _ALL_OF),
    (r"\b(?:a|one) (reviewer|customer|shopper|survey respondent)\b(?=[.,]| (?:says|adds|notes|wrote|finds|who|credits|no))",
     (r"every \1", r"almost every \1", r"nearly every \1")),
    (r"\bone (reviewer|customer)\b(?!')", (r"every \1", r"nearly every \1")),
    (r"^(Customers|Reviewers|Residents) ", (r"All \1 ", r"Nearly all \1 ")),
    (r"\b(?:only )?two out of five\b", ("four out of five", "most of the five")),
    (r"\bfour in twelve\b", ("nearly all of the twelve", "most of the twelve")),
    (r"\bin three of four\b", ("in all four",)),
    (r"\btwo of which\b", ("all of which",)),
    (r"\btwo of the payments\b", ("all of the payments",)),
    (r"\b3 broke\b", ("nearly all broke", "all broke")),
    (r"\b[Oo]ne was late\b", ("both were late",)),
    (r"\btwo guests\b", ("all guests", "most guests")),
    (r"\b40 of (?=Corrib)", ("Most of ", "All of ")),
)  # fmt: skip
_LIKE_ALL: Final = {
    "en": (
        ("front", "Like nearly every other customer, "),
        ("front", "Like most customers, "),
        ("end", ", as most customers report"),
        ("end", ", and so say nearly all customers"),
        ("end", ", as almost every record confirms"),
    ),
    "de": (
        ("end", ", wie fast alle Kundinnen und Kunden berichten"),
        ("end", ", und so geht es den meisten Kunden"),
    ),
    "es": (("end", ", como le pasa a la mayoría de los clientes"), ("end", ", igual que a casi todos los clientes")),
}


def _said_of_every(text: str, language: str, corpus: Corpus, rng: random.Random) -> str | None:
    """Put all accounts, or nearly all, in the place of the one that the claim names."""
    for pattern, forms in _EVERY:
        new, changes = re.subn(pattern, rng.choice(forms), text, count=1)
        if changes and new.count("every") + new.count("jeder") + new.count("toda familia") == 1:
            return opened(new)
    for account in corpus.accounts if language == "en" else ():
        if says(text, account) and not account.endswith(" household"):
            new = re.sub(rf"(?<!\w){re.escape(account)}(?!\w)", rng.choice(_EVERY_BUSINESS), text, count=1)
            return opened(new)
    return None


_EVERY: Final = (
    (r"\b[Tt]he [\w'-]+ household(?=(?:'s)? )(?! and)", ("nearly every household", "every household", "almost every household")),
    (r"^Haushalt [A-ZÄÖÜ]\w+(?= )", ("fast jeder Haushalt", "jeder Haushalt")),
    (r"\b[Ll]a familia [A-Z]\w+(?= )", ("casi toda familia", "toda familia")),
)  # fmt: skip
_EVERY_BUSINESS: Final = ("nearly every business customer", "every business customer", "almost every business")


def _most_of(claim: Claim, rng: random.Random) -> str | None:
    """Say most or all where a measure counts a minority."""
    measure = claim.measure
    if measure is None or measure.denominator is None or measure.value * 2 >= measure.denominator:
        return None
    pattern = rf"\b{measure.value:.0f} of (?:the |these )?{measure.denominator} (?=[a-z])"
    text, changes = re.subn(pattern, rng.choice(("most ", "nearly all ", "almost all ")), claim.text)
    return re.sub(r" \(\d+ %\)|, which is \d+ %", "", text[:1].upper() + text[1:]) if changes else None


def _wrong_total(claim: Claim, rng: random.Random) -> str | None:
    measure = claim.measure
    if measure is None:
        return None
    value, total = f"{measure.value:.0f}", measure.denominator
    if total is None:
        wrong = rng.choice((50, 120, 312, 400, 536))
        if wrong <= measure.value:
            wrong = 900
        forms = (
            (rf"\b{value} records\b", f"{value} of {wrong} records"),
            (r"\.$", f" ({min(95, round(100 * measure.value / 635) + rng.randint(9, 30))} % of all records)."),
        )
        for pattern, new in shuffled(forms, rng):
            text, changes = re.subn(pattern, new, claim.text, count=1)
            if changes:
                return text
        return None
    true_share = round(100 * measure.value / total)
    shares = [s for s in (true_share + 8, true_share - 7, true_share + 15, 2 * true_share + 3) if 0 < s < 100]
    wrong_share = rng.choice([s for s in shares if s != true_share])
    if re.search(r"\d+ %", claim.text):
        return re.sub(r"\d+ %", f"{wrong_share} %", claim.text)
    wrong_total = total + rng.choice((-11, 9, 17, 60))
    if wrong_total <= measure.value:
        wrong_total = total + 25
    by_total = re.sub(rf"(?<![\d“]){total}(?=\D)", str(wrong_total), claim.text, count=1)
    return rng.choice((by_total, f"{without_stop(claim.text)} ({wrong_share} %)."))


def _with_total_of(text: str, claim: Claim, rng: random.Random) -> Measure | None:
    """Let the measure agree with the wrong total half the time, so that only counting again shows it."""
    measure = claim.measure
    if measure is None or measure.denominator is None or says(text, str(measure.denominator)) or rng.random() < 0.5:
        return measure
    wrong = [int(n) for n in re.findall(r"\d+", text) if not says(claim.text, n)]
    return replace(measure, denominator=wrong[0]) if wrong else measure


def _share_put_before(text: str, language: str, rng: random.Random) -> str | None:
    share, part, whole = rng.choice((12, 27, 38, 45, 64, 82)), rng.randint(3, 14), rng.choice((16, 20, 25, 40))
    if language == "de":
        return f"{without_stop(text)}, und das gilt für {share} % der Rückmeldungen."
    if language == "es":
        return f"{without_stop(text)}, algo que ocurre en el {share} % de los casos."
    return rng.choice(
        (
            f"In {share} % of the records, {lowered(text)}",
            f"{without_stop(text)}, which {part} of {whole} records confirm.",
            f"{without_stop(text)}, as {share} % of customers report.",
            f"{without_stop(text)} ({part} of {whole} records).",
        )
    )
