"""Tell how a text file is encoded."""

from __future__ import annotations

import codecs
import io
import re
from typing import Final

import charset_normalizer

from feedback.importers.stream import Source, UnreadableFile

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16: its mark begins with the mark of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY: Final = (
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
)
_MARKS_OF_PRINT: Final = "’‘“”„‚–—…•€£§°«»´·¿¡®©™ªº\xa0"
# In order of trust where a text reads as well in several: Western, Turkish and Central European, Mac.
_LATIN: Final = tuple(
    (encoding, frozenset(letters + letters.upper() + _MARKS_OF_PRINT))
    for encoding, letters in (
        ("cp1252", "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœÿ"),
        ("cp1254", "çğıöşüâîû"),
        ("cp1250", "áâäăąćčçďđéęëěíîľĺłńňóôöőŕřśšşťţúůüűýźžżß"),
        ("mac_roman", "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœÿ"),
    )
)
_OTHER_SCRIPTS: Final = (
    "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
_WORD: Final = re.compile(rb"[A-Za-z\x80-\xff]+")
_CHUNK: Final = 1 << 20
_SURROUNDINGS: Final = 32_768


def refuse_binary(head: bytes, *, name: str) -> None:
    """Raise UnreadableFile for the files that people drop by mistake, naming what they are."""
    for mark, kind in _BINARY:
        if head.startswith(mark):
            raise UnreadableFile(f"{name} is {kind}; save it as CSV (UTF-8) or NDJSON.", code="not_a_text_file")


def marked_encoding(head: bytes) -> str | None:
    """Return the Unicode encoding that a byte order mark, or the pattern of zero bytes, shows."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:4096]
    if len(sample) >= 4 and sample.count(0) * 4 > len(sample):
        # Without a mark, ASCII in UTF-16 has a zero in every other byte.
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        if even * 10 < odd:
            return "utf-16-le"
        if odd * 10 < even:
            return "utf-16-be"
    return None


def detect_encoding(source: Source, *, name: str) -> str:
    """Return the encoding of a text file; all of it is read where it can be rewound.

    Raises: UnreadableFile for binary content, and for UTF-8 that is damaged in places.
    """
    refuse_binary(source.head, name=name)
    marked = marked_encoding(source.head)
    if marked is None and b"\0" in source.head:
        raise UnreadableFile(f"{name} holds binary data; save it as CSV (UTF-8) or NDJSON.", code="not_a_text_file")
    encoding = marked or "utf-8"
    fault = _first_fault(source, encoding)
    if fault is None:
        return encoding
    offset, surroundings = fault
    if marked is not None or _is_mostly_utf8(surroundings):
        raise UnreadableFile(
            f"{name} is {encoding.upper()}, but the bytes at position {offset} are not; save it again as UTF-8.",
            code="bad_encoding",
            detail={"position": offset},
        )
    return _legacy_encoding(surroundings)


def _first_fault(source: Source, encoding: str) -> tuple[int, bytes] | None:
    """Find the first byte that can't be decoded: its position, and the bytes around it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    reader: io.BufferedIOBase = source.reader() if source.can_rewind else io.BytesIO(source.head)
    position = 0
    before = b""
    while True:
        chunk = reader.read(_CHUNK)
        is_last = not chunk and (source.can_rewind or source.is_whole)
        try:
            decoder.decode(chunk, final=is_last)
        except UnicodeDecodeError as fault:
            # The decoder had kept back the last bytes of the chunk before, if a character was cut there.
            kept = len(fault.object) - len(chunk)
            window = before[-_SURROUNDINGS - kept :] + chunk
            at = len(window) - len(chunk) - kept + fault.start
            return position - kept + fault.start, window[max(0, at - _SURROUNDINGS) : at + _SURROUNDINGS]
        if not chunk:
            return None
        position += len(chunk)
        before = chunk


def _is_mostly_utf8(sample: bytes) -> bool:
    """Say whether what is not ASCII decodes as UTF-8 more often than it doesn't."""
    text = sample.decode("utf-8", errors="surrogateescape")
    broken = sum("\udc80" <= character <= "\udcff" for character in text)
    whole = sum(character > "\x7f" for character in text) - broken
    return whole > broken


def _legacy_encoding(sample: bytes) -> str:
    """Tell which code page a text that isn't Unicode is in: a Latin one by its letters, others by statistics."""
    # Lines in ASCII look alike in all of them and only dilute the evidence.
    telling = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())
    latin, share = max(
        ((encoding, _share_of_letters(telling.decode(encoding, "replace"), letters)) for encoding, letters in _LATIN),
        key=lambda pair: pair[1],
    )
    if share > 0.95 and _is_latin(telling):
        return latin
    best = charset_normalizer.from_bytes(telling, cp_isolation=list(_OTHER_SCRIPTS), enable_fallback=False).best()
    return best.encoding if best is not None else latin


def _share_of_letters(text: str, letters: frozenset[str]) -> float:
    """Return the share of what isn't ASCII that the language writes; a capital within a word is none of it."""
    foreign = expected = 0
    before = " "
    for character in text:
        if character > "\x7f":
            foreign += 1
            expected += character in letters and not (before.islower() and character.isupper())
        before = character
    return expected / foreign if foreign else 0.0


def _is_latin(sample: bytes) -> bool:
    """Say whether words with accents consist mostly of plain letters; in other scripts they have none."""
    words = [word for word in _WORD.findall(sample) if not word.isascii()]
    plain = sum(byte < 0x80 for word in words for byte in word)
    return bool(plain * 2 >= sum(map(len, words)))
