"""Find the numerals of what people read, with a reader of its own: figures, superscripts and number words."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_WORDS = {
    word: float(number)
    for number, words in {
        0: "zero", 2: "two both twice", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine",
        10: "ten", 11: "eleven", 12: "twelve dozen", 20: "twenty", 30: "thirty", 50: "fifty", 100: "hundred",
        1000: "thousand", 0.5: "half", 0.25: "quarter",
    }.items()
    for word in words.split()
}  # fmt: skip
_MONTHS = "January February March April May June July August September October November December".split()
_SHORT = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"(?P<day>\d{{1,2}}) (?P<month>{_MONTH}) (?P<year>\d{{4}})(?:, (?P<time>\d\d:\d\d))?"
    rf"|(?P<month2>{_MONTH}) (?P<year2>\d{{4}})|Q(?P<quarter>[1-4]) (?P<year3>\d{{4}})"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def without_quotations(text: str) -> str:
    """Blank what stands in quotation marks; what is quoted holds none of its own kind."""
    return re.sub(r"“[^”]*”", " ", text)


def dates(text: str) -> tuple[list[str], str]:
    """Return the dates of a text as ISO prefixes (2026-03-01, 2026-03, 2026-Q1), and the text without them."""
    found = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        if parts["day"]:
            said = f"{parts['year']}-{_MONTHS.index(parts['month']) + 1:02}-{int(parts['day']):02}"
            found.append(said + (f"T{parts['time']}" if parts["time"] else ""))
        elif parts["month2"]:
            found.append(f"{parts['year2']}-{_MONTHS.index(parts['month2']) + 1:02}")
        else:
            found.append(f"{parts['year3']}-Q{parts['quarter']}")
        return " "

    return found, _DATE.sub(take, text)


def short_dates(text: str) -> list[str]:
    """Return the dates of a text that are written like 30 Sep 2021."""
    return [
        f"{year}-{_SHORT[month]:02}-{int(day):02}"
        for day, month, year in re.findall(rf"\b(\d{{1,2}}) ({'|'.join(_SHORT)}) (\d{{4}})", text)
    ]


def numerals(text: str) -> list[float]:
    """Return the numbers that a text states, in figures or in words."""
    figures = [float(figure.replace(",", "")) for figure in _FIGURE.findall(text)]
    odd = [c for c in text if c.isdigit() and not c.isascii()]
    assert not odd, f"figures that nobody reads: {odd} in {text!r}"
    return figures + [_WORDS[word] for word in map(str.lower, _WORD.findall(text)) if word in _WORDS]


def superscripts(text: str) -> list[int]:
    """Return the numbers that stand raised in a text."""
    return [int(run.translate(_SUPERSCRIPTS)) for run in re.findall("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", text)]


class _Elements(HTMLParser):
    """Collect the text of elements, each by its path of tag.class names."""

    _PARTING = frozenset("td th tr dt dd div p li h1 h2 h3 caption button".split())
    _VOID = frozenset(("meta", "link", "input", "br", "img", "hr", "wbr"))

    def __init__(self) -> None:
        super().__init__()
        self.path: list[tuple[str, dict[str, str]]] = []
        self.runs: list[tuple[list[tuple[str, dict[str, str]]], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._PARTING:
            # "0" and "May 2025" of two cells are no date.
            self.handle_data("; " if tag in ("td", "th") else " ")
        if tag not in self._VOID:
            self.path.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self.path and self.path.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.runs.append((list(self.path), data))


class Page:
    """A page's text by element: `tag`, `tag.class` or `#id`."""

    def __init__(self, html: str) -> None:
        reader = _Elements()
        reader.feed(html)
        self._runs = reader.runs

    def texts(self, within: str, *, without: tuple[str, ...] = ()) -> list[str]:
        """Return the text of each such element, but for what the others name inside it."""
        found: dict[int, list[str]] = {}
        for path, data in self._runs:
            place = next((n for n, element in enumerate(path) if self._is(element, within)), None)
            if place is None or any(self._is(element, other) for element in path[place + 1 :] for other in without):
                continue
            # An element's attributes are one object for all of its runs.
            found.setdefault(id(path[place][1]), []).append(data)
        return [" ".join("".join(runs).split()) for runs in found.values()]

    @staticmethod
    def _is(element: tuple[str, dict[str, str]], selector: str) -> bool:
        if selector.startswith("#"):
            return element[1].get("id") == selector[1:]
        tag, _, name = selector.partition(".")
        return element[0] == tag and (not name or name in element[1].get("class", "").split())
