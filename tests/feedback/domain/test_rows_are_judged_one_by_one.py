"""A bad row is refused with what to change, and never takes its neighbours with it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.records import (
    CorpusRules,
    DocumentInput,
    FacetRule,
    Rejection,
    read_documents,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
RULES = CorpusRules(sources=frozenset({"survey", "support_ticket"}), default_source="survey")


def read(*rows: object, rules: CorpusRules = RULES, **keywords: Any) -> tuple[list[DocumentInput], list[Rejection]]:
    return read_documents(enumerate(rows, start=1), rules=rules, now=NOW, **keywords)


def read_one(rules: CorpusRules = RULES, **fields: Any) -> DocumentInput:
    documents, rejections = read({"id": "d1", "text": "Slow app.", **fields}, rules=rules)
    assert rejections == []
    return documents[0]


def refuse_one(rules: CorpusRules = RULES, **fields: Any) -> Rejection:
    documents, rejections = read({"id": "d1", "text": "Slow app.", **fields}, rules=rules)
    assert documents == []
    return rejections[0]


def test_text_is_kept_exactly() -> None:
    text = "  Caf\u0065\u0301 👍\r\n\tagain \x07 "

    document = read_one(text=text)

    assert document.text == text


def test_absent_fields_have_their_defaults() -> None:
    document = read_one()

    assert document.source == "survey"
    assert (document.title, document.account, document.url, document.themes) == ("", "", "", ())
    assert document.occurred_at is None
    assert document.language is None
    assert document.facets == {}


def test_null_means_absent_and_changes_no_hash() -> None:
    document = read_one(account=None, occurred_at=None, rating=None)

    assert document == read_one()


def test_key_order_changes_no_hash() -> None:
    first, _ = read({"id": "1", "text": "a", "x": 1})
    second, _ = read({"x": 1, "text": "a", "id": "1"})

    assert first[0].sent_hash == second[0].sent_hash


def test_metadata_changes_the_sent_hash_only() -> None:
    plain, themed = read_one(), read_one(theme="speed")

    assert plain.sent_hash != themed.sent_hash
    assert plain.text_hash == themed.text_hash == sha256(b"\0Slow app.").digest()


def test_title_and_text_are_not_confused_in_the_hash() -> None:
    assert read_one(title="a", text="b").text_hash != read_one(title="", text="ab").text_hash


def test_theme_and_themes_are_merged_without_repeats() -> None:
    document = read_one(theme="price", themes=["speed", "price", None, " "])

    assert document.themes == ("price", "speed")


def test_unknown_keys_become_facets() -> None:
    document = read_one(rating=5, plan="pro", tags=["a", 2], beta=True, empty="", user={"tier": "gold"})

    assert document.facets == {"rating": 5, "plan": "pro", "tags": ["a", 2], "beta": True, "user.tier": "gold"}


def test_explicit_facets_are_facets() -> None:
    assert read_one(facets={"text": "not the text"}).facets == {"text": "not the text"}


def test_numeric_ids_are_texts() -> None:
    assert read_one(id=2**70).external_id == str(2**70)
    assert read_one(account=17).account == "17"


@pytest.mark.parametrize(
    ("sent", "source"), [("survey", "survey"), ("Support Ticket", "support_ticket"), (" ", "survey")]
)
def test_source_is_found_under_its_usual_spellings(sent: str, source: str) -> None:
    assert read_one(source=sent).source == source


def test_new_source_is_accepted_while_a_corpus_declares_them() -> None:
    rules = CorpusRules(sources=frozenset(), default_source="survey", declares_sources=True)

    assert read_one(rules, source="Trustpilot").source == "Trustpilot"


def test_declared_facets_are_typed() -> None:
    rules = CorpusRules(
        sources=RULES.sources,
        default_source="survey",
        facets=(
            FacetRule("rating", "integer", ("1", "2", "3")),
            FacetRule("score", "number"),
            FacetRule("vip", "boolean"),
            FacetRule("joined", "date"),
            FacetRule("plan", "text", ("Free", "Pro")),
        ),
    )

    document = read_one(rules, rating=" 3 ", score="4.50", vip="yes", joined="2021-04-03T10:00Z", plan="pro")

    assert document.facets == {
        "rating": 3,
        "score": 4.5,
        "vip": True,
        "joined": "2021-04-03",
        "plan": "Pro",
    }


@pytest.mark.parametrize(
    ("fields", "column", "code"),
    [
        ({"text": ""}, "text", "blank_text"),
        ({"text": " \n\u200b"}, "text", "blank_text"),
        ({"text": None}, "text", "blank_text"),
        ({"text": 5}, "text", "bad_type"),
        ({"text": "a" * 100_001}, "text", "too_long"),
        ({"text": "a\0b"}, "text", "bad_character"),
        ({"text": "half \ud83d"}, "text", "bad_character"),
        ({"note": {"deep": ["\udc00"]}}, "note", "bad_character"),
        ({"k\0": 1}, "k\0", "bad_character"),
        ({"id": None}, "id", "bad_id"),
        ({"id": "  "}, "id", "bad_id"),
        ({"id": True}, "id", "bad_id"),
        ({"id": 1.5}, "id", "bad_id"),
        ({"id": "a\nb"}, "id", "bad_id"),
        ({"id": "x" * 257}, "id", "bad_id"),
        ({"source": "fax"}, "source", "unknown_source"),
        ({"source": 3}, "source", "bad_type"),
        ({"theme": {"a": 1}}, "theme", "bad_type"),
        ({"account": True}, "account", "bad_type"),
        ({"account": "a" * 201}, "account", "too_long"),
        ({"occurred_at": "yesterday"}, "occurred_at", "bad_date"),
        ({"occurred_at": "03/04/2021"}, "occurred_at", "bad_date"),
        ({"occurred_at": "1970-01-01"}, "occurred_at", "date_out_of_range"),
        ({"occurred_at": "2026-12-03"}, "occurred_at", "date_out_of_range"),
        ({"lang": "klingon!"}, "lang", "bad_language"),
        ({"url": "javascript:alert(1)"}, "url", "bad_url"),
        ({"url": "data:text/html,x"}, "url", "bad_url"),
        ({"rating": float("nan")}, "rating", "bad_facet"),
        ({"facets": [1]}, "facets", "bad_type"),
        ({"blob": "x" * 70_000}, "blob", "too_long"),
    ],
)
def test_refusal_names_column_and_code(fields: dict[str, Any], column: str, code: str) -> None:
    rejection = refuse_one(**fields)

    assert (rejection.row, rejection.column, rejection.code) == (1, column, code)
    assert rejection.message


@pytest.mark.parametrize("value", ["six", "9", 2.5, True, [3, "x"]])
def test_declared_facet_refuses_other_values(value: object) -> None:
    rules = CorpusRules(
        sources=RULES.sources, default_source="survey", facets=(FacetRule("rating", "integer", ("1", "2")),)
    )

    assert refuse_one(rules, rating=value).code == "bad_facet"


@pytest.mark.parametrize("row", [None, 5, "text", ["id"], {1: "a"}, {"id": "1", "text": "a", "x": object()}])
def test_what_is_no_json_object_is_refused(row: object) -> None:
    documents, rejections = read(row)

    assert documents == []
    assert rejections[0].code in ("not_an_object", "bad_type")


def test_shown_value_is_short_and_encodable() -> None:
    rejection = refuse_one(source="\ud800" + "x" * 500)

    assert len(rejection.value) <= 80
    rejection.value.encode()


def test_good_rows_survive_bad_neighbours() -> None:
    documents, rejections = read(
        {"id": "1", "text": ""}, {"id": "2", "text": "Good."}, "junk", {"id": "3", "text": "Also good."}
    )

    assert [document.external_id for document in documents] == ["2", "3"]
    assert [(rejection.row, rejection.code) for rejection in rejections] == [
        (1, "blank_text"),
        (3, "not_an_object"),
    ]


def test_repeated_id_with_other_content_is_refused() -> None:
    documents, rejections = read({"id": "1", "text": "First."}, {"id": "1", "text": "Second."})

    assert [document.text for document in documents] == ["First."]
    assert [(rejection.row, rejection.code) for rejection in rejections] == [(2, "duplicate_id")]


def test_identical_repeat_is_dropped_without_a_rejection() -> None:
    documents, rejections = read({"id": "1", "text": "Same."}, {"text": "Same.", "id": "1"})

    assert len(documents) == 1
    assert rejections == []


def test_refused_row_does_not_occupy_its_id() -> None:
    documents, rejections = read({"id": "1", "text": "a", "source": "fax"}, {"id": "1", "text": "b"})

    assert [document.text for document in documents] == ["b"]
    assert [rejection.code for rejection in rejections] == ["unknown_source"]


def test_rejections_of_the_importer_pass_through() -> None:
    rejection = Rejection(7, "", "{", "bad_json", "Column 2.")

    assert read_documents([(7, rejection)], rules=RULES, now=NOW) == ([], [rejection])


def test_order_of_the_files_dates_is_used() -> None:
    documents, _ = read({"id": "1", "text": "a", "occurred_at": "03/04/2021"}, day_first=True)

    assert documents[0].occurred_at == datetime(2021, 4, 3, tzinfo=UTC)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=())), children, max_size=3)
    ),
    max_leaves=8,
)
rows = st.dictionaries(
    st.sampled_from(["id", "text", "source", "theme", "themes", "occurred_at", "lang", "url", "facets", "x"])
    | st.text(st.characters(exclude_categories=()), max_size=5),
    json_values,
)


@given(st.lists(rows | json_values, max_size=5))
def test_any_json_is_either_admitted_or_refused(sent: list[object]) -> None:
    documents, rejections = read(*sent)

    places = [document.row for document in documents] + [rejection.row for rejection in rejections]
    assert len(places) == len(set(places)) <= len(sent)
    for document in documents:
        assert document.text.strip()
        assert "\0" not in document.text
        repr(document).encode()
    for rejection in rejections:
        f"{rejection.value}{rejection.message}".encode()


@given(
    st.text(min_size=1).filter(lambda text: text.strip().strip("\u200b\u200c\u200d\u2060\ufeff") and "\0" not in text)
)
def test_replay_gives_the_same_hashes(text: str) -> None:
    first, second = read_one(text=text), read_one(text=text)

    assert first == second
    assert first.text == text
