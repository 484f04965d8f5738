"""An array of objects, or the one array in an object, is read; anything else says what to send."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from feedback.domain.records import Rejection
from feedback.importers.registry import open_file
from feedback.importers.stream import ImportStream, UnreadableFile


def opened(document: Any, name: str = "feedback.json") -> ImportStream:
    content = document if isinstance(document, bytes) else json.dumps(document, indent=1).encode()
    return open_file(io.BytesIO(content), name=name)


ROWS = [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        {"documents": ROWS, "next_page": None, "count": 2},
        {"tickets": ROWS, "errors": [], "columns": ["id", "text"]},
    ],
)
def test_array_of_objects_is_found(document: Any) -> None:
    stream = opened(document)

    assert stream.format == "json"
    assert list(stream.rows()) == [(1, ROWS[0]), (2, ROWS[1])]


def test_single_document_is_one_row() -> None:
    document = {"id": "1", "text": "a", "tags": [{"x": 1}]}

    assert list(opened(document).rows()) == [(1, document)]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b'{"id":"1","text":"a"}\n{"id":"2","text":"b"}\n', "ndjson"),
        (b'{"id":"1","text":"a"}', "ndjson"),
        (b'{"rows":[{"id":"1","text":"a"}]}', "json"),
        (b'{"rows":[\n{"id":"1","text":"a"},\n{"id":"2","text":"b"}]}', "json"),
        (b'\xef\xbb\xbf[{"id":"1","text":"a"}]', "json"),
        (json.dumps(ROWS).encode("utf-16"), "json"),
    ],
)
def test_form_is_told_from_the_content(content: bytes, form: str) -> None:
    for name in ("export.json", "export"):
        stream = opened(content, name)

        assert stream.format == form
        assert next(stream.rows())[1] == {"id": "1", "text": "a"}


def test_order_of_dates_is_found_in_the_rows() -> None:
    rows = [{"id": "1", "text": "a", "occurred_at": date} for date in ("01/02/2021", "30/09/2021")]

    assert opened(rows).day_first is True


def test_member_that_is_no_object_is_one_rejection() -> None:
    rows = list(opened([ROWS[0], 5, None, ROWS[1]]).rows())

    assert [row[1].code for row in rows if isinstance(row[1], Rejection)] == ["not_an_object"] * 2
    assert [row for row, _ in rows] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'[{"id": 1,}]', "bad_json"),
        (b'{"rows": [', "bad_json"),
        (b'["\xff"]', "bad_json"),
        (b"5", "unreadable_file"),
        (b'{\n "meta": {"id": 1}}', "unreadable_file"),
        (b'{"tickets": [{"a": 1}], "users": [{"b": 2}]}', "unreadable_file"),
        (b" \n ", "empty_file"),
        (b"", "empty_file"),
    ],
)
def test_unusable_document_says_what_to_send(content: bytes, code: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        opened(content)

    assert refused.value.error_code == code
    assert "feedback.json" in refused.value.message


def test_two_arrays_are_named() -> None:
    with pytest.raises(UnreadableFile) as refused:
        opened({"tickets": [{"a": 1}], "users": [{"b": 2}]})

    assert refused.value.detail["arrays"] == ["tickets", "users"]
