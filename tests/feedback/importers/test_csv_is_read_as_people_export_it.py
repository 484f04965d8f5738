"""Delimiter, encoding, quoting and header are found out; a row that doesn't fit is one rejection."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.domain.records import Rejection
from feedback.importers import csv_file
from feedback.importers.registry import open_file
from feedback.importers.stream import ImportStream, Row, UnreadableFile

MESSY = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "messy"


def opened(content: str | bytes, name: str = "export.csv", **keywords: Any) -> ImportStream:
    encoded = content.encode() if isinstance(content, str) else content
    return open_file(io.BytesIO(encoded), name=name, **keywords)


def read(content: str | bytes, **keywords: Any) -> list[Row]:
    return list(opened(content, **keywords).rows())


def codes(rows: list[Row]) -> list[tuple[int, str]]:
    return [(number, row.code) for number, row in rows if isinstance(row, Rejection)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found(delimiter: str, line_end: str) -> None:
    lines = ["id,comment,plan".replace(",", delimiter), "1,Slow app,pro".replace(",", delimiter), ""]

    stream = opened(line_end.join(lines))

    assert stream.delimiter == delimiter
    assert list(stream.rows()) == [(2, {"id": "1", "text": "Slow app", "plan": "pro"})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_encodings_are_found(encoding: str) -> None:
    content = "id;text\n" + "".join(f"{n};Die Größe passt nicht, außerdem zu spät – schade\n" for n in range(9))

    stream = opened(content.encode(encoding))

    assert next(stream.rows())[1] == {"id": "0", "text": "Die Größe passt nicht, außerdem zu spät – schade"}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "It’s “great” – déjà vu"),
        ("cp1252", "El niño cenó aquí"),
        ("cp1250", "Zakupy były świetne, dziękuję"),
        ("cp1254", "Çok güzel bir uygulama, teşekkürler"),
        ("mac_roman", "café très déçu"),
        ("cp1251", "Приложение вылетает каждый раз"),
        ("cp1253", "Πολύ καλή εξυπηρέτηση"),
        ("cp932", "注文履歴を開くたびにアプリが落ちます"),
        ("gb18030", "这个应用程序非常好用，我很喜欢"),
        ("euc_kr", "앱이 자꾸 꺼져요 빨리 고쳐주세요"),
    ],
)
def test_national_code_pages_are_found(encoding: str, text: str) -> None:
    content = ("id;text\n" + "".join(f"{n};{text}\n" for n in range(30))).encode(encoding)

    assert read(content)[0][1] == {"id": "0", "text": text}


def test_late_accent_of_a_long_latin1_file_is_found() -> None:
    content = b"id,text\n" + b"1,plain words only\n" * 30_000 + b"2,caf\xe9 et th\xe9 tr\xe8s bien servis\n"

    rows = read(content)

    assert rows[-1] == (30_002, {"id": "2", "text": "café et thé très bien servis"})


@pytest.mark.parametrize("at", [100, 700_000, (1 << 20) - 3])
def test_damaged_utf8_is_refused_with_its_position(at: int) -> None:
    content = bytearray(b"id,text\n" + "1,schön und größer\n".encode() * 80_000)
    content[at : at + 1] = b"\xff"

    with pytest.raises(UnreadableFile) as refused:
        opened(bytes(content))

    assert refused.value.error_code == "bad_encoding"
    assert refused.value.detail["position"] in (at - 1, at)


def test_cells_keep_line_breaks_delimiters_and_quotes() -> None:
    rows = read('id,text\r\n1,"He said ""no"",\r\nthen left"\r\n\r\n2,"b"\r\n')

    assert rows == [(2, {"id": "1", "text": 'He said "no",\r\nthen left'}), (4, {"id": "2", "text": "b"})]


def test_backslash_escapes_are_found() -> None:
    rows = read('id,text,x\n1,"He said \\"no\\", twice",a\n')

    assert rows == [(2, {"id": "1", "text": 'He said "no", twice', "x": "a"})]


def test_backslash_before_a_closing_quote_is_only_a_backslash() -> None:
    assert read('id,text,x\n1,"C:\\",a\n2,"D:\\",b\n')[0] == (2, {"id": "1", "text": "C:\\", "x": "a"})


def test_single_quotes_are_found() -> None:
    assert read("'id','text'\n'1','a, b'\n") == [(2, {"id": "1", "text": "a, b"})]


def test_separator_line_of_excel_is_obeyed() -> None:
    stream = opened("sep=;\nid;text\n1;a, b\n")

    assert stream.delimiter == ";"
    assert list(stream.rows()) == [(3, {"id": "1", "text": "a, b"})]


def test_single_column_has_no_delimiter() -> None:
    stream = opened("comment\nGood, fast; cheap\nGood\nGood\n")

    assert stream.delimiter is None
    assert stream.has_derived_ids
    assert [row["text"] for _, row in stream.rows() if isinstance(row, dict)] == [
        "Good, fast; cheap",
        "Good",
        "Good",
    ]


def test_derived_ids_are_distinct_and_the_same_on_a_replay() -> None:
    content = "comment,plan\nGood,pro\nGood,pro\nGood,free\n"

    first, second = read(content), read(content)

    ids = [row["id"] for _, row in first if isinstance(row, dict)]
    assert len(set(ids)) == 3
    assert first == second


def test_title_above_the_header_is_skipped() -> None:
    rows = read("Export of 2021,,\n\nid,text,plan\n1,a,pro\n2,b,pro\n3,c,free\n")

    assert rows[0] == (4, {"id": "1", "text": "a", "plan": "pro"})


def test_blank_and_repeated_headers_get_names() -> None:
    stream = opened("id,text,,plan,plan,plan_2\n1,a,x,y,z,w\n")

    assert stream.columns == ("id", "text", "column_3", "plan", "plan_2", "plan_2_2")
    assert next(stream.rows())[1] == {
        "id": "1", "text": "a", "column_3": "x", "plan": "y", "plan_2": "z", "plan_2_2": "w",
    }  # fmt: skip


def test_second_column_of_a_fields_name_does_not_replace_the_field() -> None:
    rows = read("id,comment,lang,language\n1,a,x,en\n")

    assert rows == [(2, {"id": "1", "text": "a", "column_3": "x", "language": "en"})]


def test_blank_cells_are_absent() -> None:
    assert read("id,text,plan\n1,a,\n2,b,  \n") == [(2, {"id": "1", "text": "a"}), (3, {"id": "2", "text": "b"})]


def test_themes_are_split() -> None:
    assert read("id,text,tags\n1,a,price; speed|staff\n")[0][1] == {
        "id": "1",
        "text": "a",
        "themes": ["price", "speed", "staff"],
    }


def test_ragged_rows_are_reported_and_trailing_blanks_forgiven() -> None:
    rows = read("id,text,plan\n1,a,pro\n2,b\n3,c,pro,,\n4,d,pro,extra\n5\n6,f,pro\n")

    assert codes(rows) == [(5, "ragged_row"), (6, "ragged_row")]
    assert [number for number, row in rows if isinstance(row, dict)] == [2, 3, 4, 7]


def test_quote_that_never_closes_costs_one_row() -> None:
    body = "".join(f"{n},Comment number {n}\n" for n in range(3, 2000))

    rows = read('id,text\n1,a\n2,"never closed\n' + body)

    assert codes(rows) == [(3, "bad_quoting")]
    assert len(rows) == 1 + 1 + 1997
    assert rows[-1] == (2000, {"id": "1999", "text": "Comment number 1999"})


def test_quote_open_at_the_end_is_reported() -> None:
    assert codes(read('id,text\n1,a\n2,"open\n')) == [(3, "bad_quoting")]


def test_inch_sign_is_no_quote() -> None:
    assert read('id,text\n1,a 5" screen\n')[0] == (2, {"id": "1", "text": 'a 5" screen'})


def test_escaped_quotes_at_the_end_are_balanced() -> None:
    rows = read('id,text\n1,"He said \\"no\\", twice"\n2,"a\nb \\" c"\n')

    assert rows[-1] == (3, {"id": "2", "text": 'a\nb " c'})


def test_many_huge_rows_are_as_many_rejections() -> None:
    rows = read("id,text\n" + ("1," + "a" * 140_000 + "\n") * 60 + "2,b\n")

    assert len(codes(rows)) == 60
    assert rows[-1] == (62, {"id": "2", "text": "b"})


def test_too_many_unclosed_quotes_are_one_error() -> None:
    content = "id,text\n1,a\n" + ('3,"open\n' + ("4," + "y" * 998 + "\n") * 140) * 60

    with pytest.raises(UnreadableFile) as refused:
        read(content)

    assert refused.value.error_code == "bad_quoting"


def test_huge_cell_is_one_rejection() -> None:
    rows = read("id,text\n1," + "a" * 3_000_000 + "\n2,b\n3," + "c" * 140_000 + "\n4,d\n")

    assert codes(rows) == [(2, "too_long"), (4, "too_long")]
    assert [number for number, row in rows if isinstance(row, dict)] == [3, 5]


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["01/02/2021", "30/09/2021"], True),
        (["01/02/2021", "09/30/2021"], False),
        (["01/02/2021"], None),
        (["2021-02-01"], None),
    ],
)
def test_order_of_dates_is_found(dates: list[str], expected: bool | None) -> None:
    stream = opened("id,text,date\n" + "".join(f"{n},a,{date}\n" for n, date in enumerate(dates)))

    assert stream.day_first is expected
    assert len(list(stream.rows())) == len(dates)


def test_order_of_dates_is_looked_for_in_the_whole_file() -> None:
    content = "id,text,date\n" + "1,a,01/02/2021\n" * 30_000 + "2,b,31/01/2021\n"

    assert opened(content).day_first is True


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"\xef\xbb\xbf \n", "empty_file"),
        (b"PK\x03\x04\x00\x00", "not_a_text_file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "not_a_text_file"),
        (b"id,text\n1,a\x00\x01\x02\n", "not_a_text_file"),
        (b"\xff\xfei\x00d\x00,\x00t\x00e\x00x\x00t\x00\n\x00\x00", "bad_encoding"),
    ],
)
def test_unreadable_file_says_so(content: bytes, code: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        opened(content)

    assert refused.value.error_code == code


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no such file"):
        open_file(tmp_path / "absent.csv")


def test_path_is_closed_after_use(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\ttext\n1\ta\n")

    with open_file(path) as stream:
        assert stream.format == "tsv"
        assert len(list(stream.rows())) == 1

    with pytest.raises(ValueError, match="closed"):
        list(stream.rows())


def test_given_stream_stays_open() -> None:
    given_stream = io.BytesIO(b"id,text\n1,a\n")

    with open_file(given_stream, name="a.csv") as stream:
        list(stream.rows())

    assert not given_stream.closed


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=12)
tables = st.lists(st.tuples(cells.filter(str.strip), cells.filter(str.strip), cells), min_size=3, max_size=12)


@given(tables, st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@settings(max_examples=150)
def test_written_tables_are_read_back(table: list[tuple[str, str, str]], delimiter: str, encoding: str) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "text", "plan"])
    writer.writerows(table)

    stream = opened(written.getvalue().encode(encoding))
    rows = [row for _, row in stream.rows()]

    assert stream.delimiter == delimiter
    assert rows == [
        {"id": first, "text": second, **({"plan": third} if third.strip() else {})} for first, second, third in table
    ]


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        rows = read(b"id,text\n" + content)
    except UnreadableFile:
        return

    assert all(isinstance(row, dict | Rejection) for _, row in rows)
    assert [number for number, _ in rows] == sorted({number for number, _ in rows})


def test_unbalanced_quotes_are_bounded_by_the_record_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MAX_RECORD_CHARACTERS", 200)
    content = 'id,text\n1,"open\n' + "2,a\n" * 100 + '3,"closed"\n'

    rows = read(content)

    assert codes(rows) == [(2, "bad_quoting")]
    assert rows[-1] == (103, {"id": "3", "text": "closed"})


@pytest.mark.skipif(not MESSY.is_dir(), reason="the shared data sets are not here")
def test_survey_export_with_two_header_rows_is_read() -> None:
    stream = open_file(MESSY / "surveymonkey_responses.csv")

    rows = list(stream.rows())

    assert stream.mapping["Please can you tell us why you gave your answer?"] == "text"
    assert stream.day_first is False
    assert codes(rows) == [(2, "second_header")]
    assert len(rows) == 801


@pytest.mark.skipif(not MESSY.is_dir(), reason="the shared data sets are not here")
def test_workbook_says_how_to_save_it() -> None:
    with pytest.raises(UnreadableFile, match="save it as CSV"):
        open_file(MESSY / "survey.xlsx")
