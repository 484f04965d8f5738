"""A bad line is one rejection; every other line of the file is read."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.records import Rejection
from feedback.importers.mapping import BadMapping
from feedback.importers.registry import open_file
from feedback.importers.stream import MAX_LINE_BYTES, ImportStream, Row, UnreadableFile


def opened(content: bytes, **keywords: Any) -> ImportStream:
    return open_file(io.BytesIO(content), name="feedback.ndjson", **keywords)


def read(content: bytes, **keywords: Any) -> list[Row]:
    return list(opened(content, **keywords).rows())


def code_of(row: Row) -> str:
    assert isinstance(row[1], Rejection)
    return row[1].code


def test_rows_carry_their_line_numbers() -> None:
    rows = read(b'{"id":"1","text":"a"}\r\n\n  \n{"id":"2","text":"b","x":null}')

    assert rows == [(1, {"id": "1", "text": "a"}), (4, {"id": "2", "text": "b", "x": None})]


def test_contract_rows_keep_every_key() -> None:
    row = {"id": "1", "text": "a", "created": "2021", "customer": "ACME", "comment": "b"}

    stream = opened(json.dumps(row).encode())

    assert stream.mapping == {}
    assert list(stream.rows()) == [(1, row)]


def test_other_rows_are_mapped_by_name() -> None:
    stream = opened(b'{"reviewId":7,"body":"a","createdAt":"2021-01-01","stars":5}\n')

    assert stream.mapping == {"reviewId": "id", "body": "text", "createdAt": "occurred_at"}
    assert list(stream.rows()) == [(1, {"id": 7, "text": "a", "occurred_at": "2021-01-01", "stars": 5})]


def test_wanted_mapping_wins_over_the_contract() -> None:
    rows = read(b'{"id":"1","text":"short","full":"long","n":1}\n', mapping={"full": "text", "n": "ignore"})

    assert rows == [(1, {"id": "1", "text": "long"})]


def test_line_separator_character_does_not_end_a_line() -> None:
    content = '{"id":"1","text":"a\u2028b\u0085c\x0bd"}\n'.replace("\x0b", "\\u000b").encode()

    assert read(content) == [(1, {"id": "1", "text": "a\u2028b\u0085c\x0bd"})]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    content = '{"id":"1","text":"Größe 👍"}\n{"id":"2","text":"b"}\n'.encode(encoding)

    assert read(content) == [(1, {"id": "1", "text": "Größe 👍"}), (2, {"id": "2", "text": "b"})]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"id": "2", "text": }', "bad_json"),
        (b'{"id": "2"', "bad_json"),
        (b'{"id": "2", "text": "\xff"}', "bad_json"),
        (b'{"id": "2", "text": NaN}', "bad_json"),
        (b"[" * 5000, "bad_json"),
        (b'"text"', "not_an_object"),
        (b"[1, 2]", "not_an_object"),
        (b"null", "not_an_object"),
    ],
)
def test_bad_line_is_one_rejection(line: bytes, code: str) -> None:
    rows = read(b'{"id":"1","text":"a"}\n' + line + b'\n{"id":"3","text":"c"}\n')

    assert [row for row, _ in rows] == [1, 2, 3]
    assert code_of(rows[1]) == code


def test_bad_json_names_its_column() -> None:
    rejection = read(b'{"id": "2", "text": }')[0][1]

    assert isinstance(rejection, Rejection)
    assert rejection.message.startswith("Column 21:")
    assert rejection.value == '{"id": "2", "text": }'


def test_lone_surrogate_reaches_the_check_of_characters() -> None:
    assert read(b'{"id":"1","text":"a \\ud83d"}') == [(1, {"id": "1", "text": "a \ud83d"})]


def test_huge_line_is_refused_and_the_next_one_read() -> None:
    content = b'{"id":"1","text":"' + b"a" * (2 * MAX_LINE_BYTES) + b'"}\n{"id":"2","text":"b"}\n'

    rows = read(content)

    assert code_of(rows[0]) == "too_long"
    assert rows[1] == (2, {"id": "2", "text": "b"})


def test_standard_input_is_ndjson_that_need_not_rewind() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    content = b"".join(b'{"id":"%d","text":"' % n + b"a" * 100 + b'"}\n' for n in range(5000))

    stream = open_file(Pipe(content), name="-")

    assert stream.format == "ndjson"
    assert len(list(stream.rows())) == 5000


def test_empty_standard_input_has_no_rows() -> None:
    assert list(open_file(io.BytesIO(b""), name="-").rows()) == []


def test_no_text_key_names_the_keys_seen() -> None:
    with pytest.raises(BadMapping) as refused:
        read(b'{"id":"1","stars":5}\n')

    assert refused.value.detail["columns"] == ["id", "stars"]


def test_archive_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="Excel"):
        opened(b"PK\x03\x04rest")


def test_damaged_utf16_is_refused() -> None:
    content = "\ufeff".encode("utf-16-le") + '{"id":"1","text":"a"}\n'.encode("utf-16-le") + b"\x00"

    with pytest.raises(UnreadableFile, match="damaged"):
        read(content)


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and b"\0" not in line)))
def test_any_bytes_give_rows_or_one_error(lines: list[bytes]) -> None:
    try:
        rows = read(b'{"id":"1","text":"a"}\n' + b"\n".join(lines))
    except UnreadableFile:
        return

    assert rows[0] == (1, {"id": "1", "text": "a"})
    assert len(rows) <= len(lines) + 1


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text()),
        max_size=6,
    )
)
def test_written_objects_are_read_back(objects: list[dict[str, Any]]) -> None:
    content = "".join(json.dumps({"text": "a", **row}, ensure_ascii=False) + "\n" for row in objects).encode()

    if any(content.startswith(mark) for mark in (b"\xff\xfe", b"\xfe\xff")) or not content:
        return
    assert [row for _, row in read(content)] == [{"text": "a", **row} for row in objects]
