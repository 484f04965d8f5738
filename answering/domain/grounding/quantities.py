"""Read the numbers of a text, spelled out or in digits, with their units, and compare them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

_TO_NINETEEN: Final = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
_BY_TEN: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES: Final = {word: value for value, word in enumerate(_TO_NINETEEN.split())}
_TENS: Final = {word: 10 * value for value, word in enumerate(_BY_TEN.split(), 2)}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_OF_OTHER_LANGUAGES: Final = {
    word: value
    for words in (
        "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince",
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    )
    for value, word in enumerate(words.split())
    if word not in ("ein", "un", "once", "six")
} | {"zwanzig": 20, "dreißig": 30, "veinte": 20, "treinta": 30, "cien": 100, "vingt": 20, "trente": 30}
_SPELLED: Final = {**_ONES, **_TENS, **_OF_OTHER_LANGUAGES}
_GERMAN_ONES: Final = {
    "ein": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
}
_GERMAN_TENS: Final = {"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60}
_SPELLED.update(
    {f"{one}und{ten}": a + b for one, a in _GERMAN_ONES.items() for ten, b in _GERMAN_TENS.items()}
    | {
        f"veinti{word}": 20 + value
        for value, word in enumerate("uno dós trés cuatro cinco séis siete ocho nueve".split(), 1)
    }
    | {"veintiún": 21}
)
_ORDINALS: Final = {
    word: value
    for value, words in enumerate(
        (
            "third thirds dritte dritten dritter drittes drittel tercera tercero tercer tercio 3rd",
            "fourth fourths quarter vierte vierten viertes viertel cuarta cuarto 4th",
            "fifth fünfte fünften quinta quinto 5th", "sixth sechste sechsten sexta sexto 6th",
            "seventh siebte siebten séptima séptimo 7th", "eighth achte achten octava octavo 8th",
            "ninth neunte neunten novena noveno 9th", "tenth zehnte zehnten décima décimo 10th",
        ),
        3,
    )
    for word in words.split()
} | {"second": 2, "zweite": 2, "zweiten": 2, "zweites": 2, "segunda": 2, "segundo": 2}  # fmt: skip
_ORDINAL: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})\b", re.IGNORECASE)
# Words that state a number without being one: a record may say "both" where a claim says "two".
_IMPLIED: Final = {
    word: value
    for value, words in {
        0.5: "half halb halbe halben mitad medio media",
        1.0: "one single once eins einmal uno una",
        2.0: "both twice couple pair double doubled second beide beiden zweimal zweiten zweite doppelt ambos ambas doble segundo segunda deux",
        3.0: "thrice triple third dreimal dritten dritte tercera tercer",
        4.0: "fourth vierte vierten viermal cuarta cuarto",
        5.0: "fiver fifth fünfmal",
        10.0: "tenner",
        12.0: "dozen dutzend docena",
        14.0: "fortnight",
    }.items()
    for word in words.split()
}
_IMPLYING: Final = re.compile(rf"\b(?:{'|'.join(_IMPLIED)})\b", re.IGNORECASE)
_SHORT_SCALES: Final = {
    "k": 1000, "thousand": 1000, "m": 1_000_000, "mn": 1_000_000, "million": 1_000_000, "mio": 1_000_000,
    "millionen": 1_000_000, "millones": 1_000_000, "millions": 1_000_000, "bn": 1_000_000_000,
    "billion": 1_000_000_000, "b": 1_000_000_000, "hundred": 100,
}  # fmt: skip
_MONTH_NAMES: Final = (
    ("january", "jan", "januar", "enero", "janvier"), ("february", "feb", "februar", "febrero", "février"),
    ("march", "mar", "märz", "marzo", "mars"), ("april", "apr", "abril", "avril"), ("may", "mai", "mayo"),
    ("june", "jun", "juni", "junio", "juin"), ("july", "jul", "juli", "julio", "juillet"),
    ("august", "aug", "agosto", "août"), ("september", "sep", "sept", "septiembre", "septembre"),
    ("october", "oct", "oktober", "okt", "octubre", "octobre"), ("november", "nov", "noviembre", "novembre"),
    ("december", "dec", "dezember", "dez", "diciembre", "décembre"),
)  # fmt: skip
MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names}

_UNITS: Final = {
    form: unit
    for unit, forms in {
        "second": "second seconds sec secs s sekunde sekunden segundo segundos seconde secondes",
        "minute": "minute minutes min mins minuten minuto minutos",
        "hour": "hour hours hr hrs h stunde stunden hora horas heure heures",
        "day": "day days tag tage tagen día días dia dias jour jours",
        "week": "week weeks wk wks woche wochen semana semanas semaine semaines",
        "month": "month months monat monate monaten mes meses mois",
        "quarter": "quarter quarters",
        "year": "year years yr yrs jahr jahre jahren año años an ans année années",
        "percent": "% percent pct prozent",
        "dollar": "$ usd dollar dollars",
        "pound": "£ gbp pound pounds quid pfund libra libras",
        "penny": "p pence penny pennies",
        "morning": "am a.m",
        "afternoon": "pm p.m",
        "euro": "€ eur euro euros",
        "yen": "¥ jpy yen",
        "kilometre": "km kilometre kilometres kilometer kilometers",
        "mile": "mile miles mi",
        "metre": "metre metres meter meters",
        "kilogram": "kg kilo kilos kilogram kilograms",
        "gram": "g gram grams gramm gramos",
        "pound_weight": "lb lbs",
        "ounce": "oz ounce ounces",
        "litre": "l litre litres liter liters litro litros",
        "millilitre": "ml millilitre millilitres milliliter mililitro mililitros",
        "centimetre": "cm centimetre centimetres centimeter zentimeter",
        "degree": "° °c degree degrees grad grados",
        "point": "point points pts punkt punkte punkten punto puntos",
        "star": "star stars sterne estrellas étoiles",
    }.items()
    for form in forms.split()
}
_SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}

_DIGITS: Final = r"\d+(?:[.,'’\u00a0\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?"
_WORDS: Final = "|".join(sorted((*_SPELLED, *_SCALES), key=len, reverse=True))
_NUMERAL: Final = re.compile(
    rf"(?P<currency>[$£€¥])?\s?(?<![\w.#])(?<!(?-i:[A-Z])-)(?P<digits>{_DIGITS})"
    rf"(?:\s?(?P<scale>(?:thousand|million|billion|millionen|millones|millions|mio|mn|bn|hundred)\b|[kmb]\b(?![-/])))?"
    rf"|(?<![\w-])(?P<words>(?:{_WORDS})(?:(?:[\s-]+(?:and\s+)?)(?:{_WORDS}))*)\b",
    re.IGNORECASE,
)
_UNIT_AFTER: Final = re.compile(r"(?:st|nd|rd|th|s)?[\s-]{0,2}(%|[$£€¥]|per\s?cent|[^\W\d_]+)", re.IGNORECASE)
_GROUPED: Final = re.compile(r"\d{1,3}([.,'’\u00a0\u202f ])\d{3}(?:\1\d{3})*$")
_BEFORE_A_MONTH: Final = re.compile(
    r"\b(?:in|since|until|till|from|by|to|of|last|this|next|early|mid|late|during|end\s+of|im|seit|bis|ab|en|desde|hasta)[\s-]+$",
    re.IGNORECASE,
)
_MONTH_WORD: Final = re.compile(r"\b[^\W\d_]{3,10}\b")
_ROUND_ABOUT: Final = re.compile(
    r"\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.?|close to|rund|etwa|fast|unos|unas|casi)\s*[$£€¥]?$",
    re.IGNORECASE,
)
_MORE_THAN: Final = re.compile(
    r"\b(?:over|more than|at least|exceeding|above|upwards of|mehr als|über|más de)\s*[$£€¥]?$", re.I
)
_LESS_THAN: Final = re.compile(
    r"\b(?:under|less than|fewer than|at most|below|up to|weniger als|unter|menos de)\s*[$£€¥]?$", re.I
)
_ENUMERATOR: Final = re.compile(r"^\s*\(?\d{1,3}[.)]\s+")
# "4.99 to 6.99 euro", "three weeks out of four": the unit is said once.
_SHARES_UNIT: Final = re.compile(
    r"\s*(?:[-–—/]|to|or|and|down\s+to|up\s+to|from|instead\s+of|auf|bis|oder|und|statt|zu|a|o|y|en\s+lugar\s+de|à|ou|et)\s*[$£€¥]?",
    re.IGNORECASE,
)
_TO_UNIT: Final = re.compile(
    r"(?:\s+window)?\s*(?:[-–—]|to|down\s+to|up\s+to|instead\s+of|auf|bis|statt|en\s+lugar\s+de)\s*[$£€¥]?",
    re.IGNORECASE,
)
_OF_UNIT: Final = re.compile(r"\s+(?:out\s+of|of|von|de)\s+(?:the\s+|our\s+|my\s+)?", re.IGNORECASE)
_RATIO: Final = re.compile(
    rf"({_DIGITS}|{_WORDS})\s+(?:(?!of\b|out\b)[a-z]+\s+)?(?:out\s+)?of\s+(?:the\s+|our\s+|these\s+)?({_DIGITS}|{_WORDS})\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text with every value that its spelling may mean, and its unit where one is known.

    `end` is the end of the numeral, `unit_end` that of its unit.
    """

    surface: str
    values: frozenset[float]
    unit: str | None
    start: int
    end: int
    unit_end: int


def quantities(text: str) -> list[Quantity]:
    """List the numbers of a text in order.

    A bare "one" is a pronoun more often than a number and counts only before a unit.
    """
    found = []
    for match in _NUMERAL.finditer(text):
        digits, words = match.group("digits"), match.group("words")
        unit, unit_end = _unit_after(text, match.end())
        unit = _UNITS.get(match.group("currency") or "") or unit
        if digits:
            scale = _SHORT_SCALES.get((match.group("scale") or "").lower(), 1)
            values = frozenset(v * scale for v in _readings(digits))
        else:
            value = _spelled(words)
            if (value == 1 and unit is None) or words.lower() in _SCALES:
                continue
            values = frozenset({value})
        surface = match.group().strip()
        start = match.end() - len(match.group().lstrip())
        found.append(Quantity(surface, values, unit, start, match.end(), unit_end))
    return _with_shared_units(text, found)


def _with_shared_units(text: str, found: list[Quantity]) -> list[Quantity]:
    """Give a number the unit that is said once for it and its neighbour."""
    for place in reversed(range(len(found) - 1)):
        one, other = found[place], found[place + 1]
        if one.unit is None and other.unit and _SHARES_UNIT.fullmatch(text, one.end, other.start):
            found[place] = replace(one, unit=other.unit)
    for place in range(len(found) - 1):
        one, other = found[place], found[place + 1]
        shared = _OF_UNIT.fullmatch(text, one.unit_end, other.start) or _TO_UNIT.fullmatch(
            text, one.unit_end, other.start
        )
        if one.unit and other.unit is None and shared:
            found[place + 1] = replace(other, unit=one.unit)
    return found


@dataclass(frozen=True, slots=True)
class StatedNumbers:
    """The numbers and months that some text states."""

    quantities: tuple[Quantity, ...]
    months: frozenset[int]
    implied: frozenset[float] = frozenset()


def stated_numbers(texts: Iterable[str]) -> StatedNumbers:
    """Collect the numbers and months of texts."""
    texts = list(texts)
    return StatedNumbers(
        tuple(q for text in texts for q in quantities(text)),
        frozenset(month for text in texts for month in months_named(text)),
        frozenset(_IMPLIED[match.group().lower()] for text in texts for match in _IMPLYING.finditer(text)),
    )


def missing_quantity(claim: str, stated: StatedNumbers, *, bound: Iterable[float] = ()) -> Quantity | None:
    """Return the first number of a claim that isn't stated with its unit; None if there is none.

    "About 600" is borne out by 612, "over 600" by 612 too. `bound` are numbers that need no evidence.
    """
    free = frozenset(bound)
    claim = _ENUMERATOR.sub("", claim)
    for quantity in quantities(claim):
        if quantity.values & free:
            continue
        # "14 of 40 … 3 hours" doesn't bear out "14 hours": where its unit is stated, a number needs it.
        rivals = [q for q in stated.quantities if _same_dimension(q.unit, quantity.unit)]
        if any(_bears_out(claim, quantity, other) for other in rivals or stated.quantities):
            continue
        if quantity.values & stated.implied and quantity.unit is None:
            continue
        if not _is_month_of_date(claim, quantity, stated.months):
            return quantity
    return None


def missing_ordinal(claim: str, texts: Iterable[str], stated: StatedNumbers) -> str | None:
    """Return the first "third" or "fourth" of a claim that the text neither says nor counts; else None.

    "For a second time" is said in many ways ("again", "twice", "both"), and a second is a unit as well.
    """
    whole = "\n".join(texts)
    theirs = {_ORDINALS[m.group().lower()] for m in _ORDINAL.finditer(whole)}
    theirs |= {int(v) for q in stated.quantities for v in q.values if v.is_integer() and v < _SMALL}
    theirs |= {int(v) for v in stated.implied}
    for match in _ORDINAL.finditer(claim):
        value = _ORDINALS[match.group().lower()]
        if value in theirs or (value == _TWICE and (_AGAIN.search(whole) or not theirs - {1})):
            continue
        return match.group()
    return None


_SMALL: Final = 32
_TWICE: Final = 2
_AGAIN: Final = re.compile(
    r"\b(?:again|another|also|too|more|next|last|other|wieder|erneut|auch|otra|otro|también)\b", re.IGNORECASE
)
_PER: Final = re.compile(
    r"\b(?:a|an|per|each|every|one|pro|jede[nrsm]?|eine?[nrm]?|una?|al|a\s+la|por|cada)\s+(?P<unit>second|minute|hour|day|week|month|year|sekunde|minute|stunde|tag|woche|monat|jahr|"
    r"segundo|minuto|hora|día|semana|mes|año)\b(?!\s+(?:before|after|ago|later?|earl\w+|ahead|vor|nach|später|früher|antes|después))|\b(?P<adverb>hourly|daily|weekly|monthly|yearly|annually|täglich|wöchentlich|monatlich|jährlich)\b",
    re.IGNORECASE,
)
_ADVERB_UNITS: Final = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year",
    "täglich": "day", "wöchentlich": "week", "monatlich": "month", "jährlich": "year",
}  # fmt: skip


def missing_rate(claim: str, texts: Iterable[str]) -> str | None:
    """Return an "a week" of a claim whose text speaks of "a day", and of no week; else None."""
    whole = "\n".join(texts)
    theirs = _units_per(whole)
    named = {_UNITS[word] for word in re.findall(r"[^\W\d_]+", whole.lower()) if word in _UNITS}
    for unit, said in _units_per(claim).items():
        if unit not in theirs and unit not in named and (theirs or named & _TIMES):
            return said
    return None


def _units_per(text: str) -> dict[str, str]:
    found = {}
    for match in _PER.finditer(text):
        word = match["unit"] or match["adverb"]
        unit = _ADVERB_UNITS.get(word.lower()) or _UNITS.get(word.lower())
        if unit:
            found[unit] = match.group()
    return found


_TIMES: Final = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})


def months_named(text: str) -> dict[int, str]:
    """Return the months that a text names, as number and word; capitals are required, "May" needs a number near."""
    found = {}
    for match in _MONTH_WORD.finditer(text):
        word = match.group()
        month = MONTHS.get(word.lower())
        if month is None or not word[0].isupper():
            continue
        near = text[max(0, match.start() - 6) : match.end() + 6]
        is_placed = _BEFORE_A_MONTH.search(text[: match.start()])
        if len(word) > 4 or any(c.isdigit() for c in near) or is_placed:
            found[month] = word
    return found


def share_stated(text: str) -> float:
    """Return the largest share of a whole that a text states ("31 of 40", "78 %"), 0 without one."""
    shares = [0.0]
    for match in _RATIO.finditer(text):
        part, whole = (max(_values_of(g), default=0.0) for g in match.groups())
        if 0 < part <= whole:
            shares.append(part / whole)
    shares.extend(v / 100 for q in quantities(text) if q.unit == "percent" for v in q.values if v <= 100)
    return max(shares)


def _values_of(numeral: str) -> frozenset[float]:
    return frozenset({_spelled(numeral)}) if numeral[0].isalpha() else _readings(numeral)


def _readings(digits: str) -> frozenset[float]:
    """Return what a numeral may mean under either convention of thousands and decimals."""
    plain = re.sub(r"['’\u00a0\u202f ]", "", digits)
    found = set()
    if _GROUPED.fullmatch(digits) or plain.isdigit():
        found.add(float(re.sub(r"\D", "", plain)))
    last = max(plain.rfind("."), plain.rfind(","))
    if last >= 0 and plain.count(plain[last]) == 1:
        whole = re.sub(r"\D", "", plain[:last])
        found.add(float(f"{whole or 0}.{plain[last + 1 :]}"))
    return frozenset(found or {float(re.sub(r"\D", "", plain))})


def _spelled(words: str) -> float:
    total = part = 0.0
    for word in re.split(r"[\s-]+", words.lower()):
        if word in _SPELLED:
            part += _SPELLED[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALES:
            total += (part or 1) * _SCALES[word]
            part = 0.0
    return total + part


def _unit_after(text: str, position: int) -> tuple[str | None, int]:
    match = _UNIT_AFTER.match(text, position)
    if match is None:
        return None, position
    word = match.group(1).lower()
    unit = "percent" if word.startswith("per") and word.endswith("cent") else _UNITS.get(word)
    return unit, match.end() if unit else position


def _bears_out(claim: str, needed: Quantity, stated: Quantity) -> bool:
    if not _units_agree(needed, stated):
        return False
    if needed.values & stated.values:
        return True
    if needed.unit in _SECONDS and stated.unit in _SECONDS:
        a, b = _SECONDS[needed.unit], _SECONDS[stated.unit]
        if any(abs(x * a - y * b) < 1e-6 for x in needed.values for y in stated.values):
            return True
    lead = claim[: needed.start]
    pairs = [(x, y) for x in needed.values for y in stated.values if x > 20 or needed.unit]
    if _ROUND_ABOUT.search(lead):
        return any(abs(x - y) <= 0.06 * y for x, y in pairs)
    if _MORE_THAN.search(lead):
        return any(x <= y <= 1.15 * x for x, y in pairs)
    if _LESS_THAN.search(lead):
        return any(0.85 * x <= y <= x for x, y in pairs)
    return False


def _same_dimension(one: str | None, other: str | None) -> bool:
    return one is not None and (one == other or (one in _SECONDS and other in _SECONDS))


def _units_agree(needed: Quantity, stated: Quantity) -> bool:
    if needed.unit == stated.unit or (
        needed.unit in _SECONDS and stated.unit in _SECONDS and needed.values != stated.values
    ):
        return True
    if needed.unit == "percent" or stated.unit == "percent":
        return False
    return needed.unit is None or stated.unit is None


def _is_month_of_date(claim: str, quantity: Quantity, months: frozenset[int]) -> bool:
    """Tell whether a number is the month of a numeric date ("2021-03-03") that the evidence spells out."""
    if len(quantity.values) != 1 or quantity.unit is not None:
        return False
    (value,) = quantity.values
    around = claim[max(0, quantity.start - 1) : quantity.end + 1]
    return int(value) in months and any(mark in around for mark in "-/.")
