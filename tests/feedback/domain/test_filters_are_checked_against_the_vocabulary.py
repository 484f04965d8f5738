"""A filter that the corpus can't mean is refused with what it could mean; the others mean one thing each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidInput
from feedback.domain.filters import FacetVocabulary, FilterSet, InvalidFilter, Vocabulary

# What a record can hold: any text without NUL and lone surrogates.
LEGIBLE = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1)

VOCABULARY = Vocabulary(
    sources=("survey", "app_review"),
    themes=("Waiting times", "Staff"),
    languages=("en", "de"),
    facets={
        "rating": FacetVocabulary("integer", ("1", "2", "3")),
        "plan": FacetVocabulary("text"),
        "beta": FacetVocabulary("boolean"),
        "joined": FacetVocabulary("date"),
        "score": FacetVocabulary("number"),
        "build": FacetVocabulary("any"),
    },
)
FILINGS = Vocabulary(
    facets={
        "ticker": FacetVocabulary("text", ("AAPL", "NVDA")),
        "fiscal_year": FacetVocabulary("integer", ("2023", "2024")),
        "content_uid": FacetVocabulary("text"),
    },
    kind="filings",
)


def read(raw: object, vocabulary: Vocabulary = VOCABULARY) -> FilterSet:
    return FilterSet.from_json(raw, vocabulary=vocabulary)


def test_every_key_is_read() -> None:
    found = read(
        {
            "source": ["survey"],
            "theme": "staff",
            "account": ["NEAS", 17],
            "language": ["de", "en"],
            "occurred_from": "2021-01-01",
            "occurred_to": "2021-02-01T10:00:00+02:00",
            "facets": {"rating": ["3", 1], "plan": "pro", "beta": "true", "score": "2.50"},
        }
    )

    assert found == FilterSet(
        source=("survey",),
        theme=("Staff",),
        account=("17", "NEAS"),
        language=("de", "en"),
        occurred_from=datetime(2021, 1, 1, tzinfo=UTC),
        occurred_to=datetime(2021, 2, 1, 8, tzinfo=UTC),
        facets={"rating": (1, 3), "plan": ("pro",), "beta": (True,), "score": (2.5,)},
    )


@pytest.mark.parametrize("raw", [None, {}, {"source": []}, {"source": None, "facets": {}}, {"facets": {"plan": []}}])
def test_nothing_set_is_the_empty_filter(raw: object) -> None:
    assert read(raw).is_empty
    assert read(raw).as_json() == {}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "filters"),
        ("survey", "filters"),
        ({"sources": ["survey"]}, "filters"),
        ({"tickers": ["AAPL"]}, "filters"),
        ({1: "x"}, "filters"),
        ({"source": ["fax"]}, "source"),
        ({"source": [3]}, "source"),
        ({"source": [""]}, "source"),
        ({"theme": ["Parking"]}, "theme"),
        ({"language": ["fr"]}, "language"),
        ({"account": [{}]}, "account"),
        ({"account": [True]}, "account"),
        ({"ids": {"a": 1}}, "ids"),
        ({"occurred_from": "soon"}, "occurred_from"),
        ({"occurred_from": ["2021-01-01"]}, "occurred_from"),
        ({"occurred_to": "03/04/2021"}, "occurred_to"),
        ({"facets": ["rating"]}, "facets"),
        ({"facets": {"stars": 1}}, "facets"),
        ({"facets": {"rating": 4}}, "facets"),
        ({"facets": {"rating": "one"}}, "facets"),
        ({"facets": {"rating": True}}, "facets"),
        ({"facets": {"beta": "maybe"}}, "facets"),
        ({"facets": {"score": "1_0"}}, "facets"),
        ({"facets": {"score": float("nan")}}, "facets"),
        ({"facets": {"joined": "soon"}}, "facets"),
        ({"facets": {"plan": {"a": 1}}}, "facets"),
    ],
)
def test_what_the_corpus_cannot_mean_is_refused_with_the_vocabulary(raw: object, field: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        read(raw)

    assert isinstance(refused.value, InvalidInput)
    assert refused.value.field == field
    assert refused.value.detail["vocabulary"]["sources"] == ["app_review", "survey"]
    assert refused.value.detail["vocabulary"]["facets"]["rating"]["values"] == ["1", "2", "3"]


@pytest.mark.parametrize("to", ["2021-01-01", "2020-12-31"])
def test_empty_period_is_refused(to: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        read({"occurred_from": "2021-01-01", "occurred_to": to})

    assert refused.value.field == "occurred_to"


def test_unknown_accounts_and_ids_are_accepted() -> None:
    assert read({"account": "nobody"}).account == ("nobody",)
    assert read({"ids": ["nothing"]}).ids == ("nothing",)


def test_id_list_overrides_the_other_fields() -> None:
    found = read({"ids": ["b", "a"], "source": ["survey"], "facets": {"plan": "pro"}, "occurred_to": "2021-01-01"})

    assert found == FilterSet(ids=("a", "b"))
    assert found.as_json() == {"ids": ["a", "b"]}


def test_overridden_fields_are_still_checked() -> None:
    with pytest.raises(InvalidFilter):
        read({"ids": ["a"], "source": ["fax"]})


def test_filings_name_their_grid() -> None:
    found = read({"tickers": "nvda", "fiscal_years": [2024, "2023"], "content_uids": ["u-1"]}, FILINGS)

    assert found.facets == {"ticker": ("NVDA",), "fiscal_year": (2023, 2024), "content_uid": ("u-1",)}
    assert read(found.as_json(), FILINGS) == found


def test_command_line_pairs_read_like_json() -> None:
    pairs = ["source=survey", "source=app_review", "occurred_from=2021-01-01", "rating=3", "facets.plan=a=b"]

    found = FilterSet.from_pairs(pairs, vocabulary=VOCABULARY)

    assert found == read(
        {
            "source": ["survey", "app_review"],
            "occurred_from": "2021-01-01",
            "facets": {"rating": 3, "plan": "a=b"},
        }
    )


@pytest.mark.parametrize(
    "pairs", [["source"], ["=survey"], ["source="], ["stars=1"], ["occurred_to=2021-01-01", "occurred_to=2022-01-01"]]
)
def test_bad_pairs_are_refused(pairs: list[str]) -> None:
    with pytest.raises(InvalidFilter):
        FilterSet.from_pairs(pairs, vocabulary=VOCABULARY)


def test_inference_never_changes_what_the_caller_set() -> None:
    caller = read({"source": ["survey"], "facets": {"rating": 1}, "occurred_from": "2021-06-01"})
    inferred = read(
        {
            "source": ["app_review"],
            "theme": ["Staff"],
            "facets": {"rating": 2, "plan": "pro"},
            "occurred_to": "2021-01-01",
        }
    )

    merged = caller.merged_with(inferred)

    assert merged == read(
        {
            "source": ["survey"],
            "theme": ["Staff"],
            "facets": {"rating": 1, "plan": "pro"},
            "occurred_from": "2021-06-01",
        }
    )


def test_inference_leaves_an_id_list_alone() -> None:
    caller = FilterSet(ids=("a",))

    assert caller.merged_with(read({"theme": "Staff"})) == caller


names = st.lists(st.sampled_from(["survey", "app_review"]), max_size=3)
filters: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "source": names,
        "theme": st.lists(st.sampled_from(["Waiting times", "STAFF"]), max_size=2),
        "account": st.lists(LEGIBLE.filter(str.strip), max_size=2),
        "ids": st.lists(LEGIBLE.filter(str.strip), max_size=1),
        "occurred_from": st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
        "facets": st.fixed_dictionaries(
            {},
            optional={
                "rating": st.lists(st.sampled_from([1, "2", 3.0]), max_size=3),
                "beta": st.booleans(),
                "build": st.lists(st.integers() | LEGIBLE | st.booleans() | st.floats(-9, 9), max_size=4),
            },
        ),
    },
)


@given(filters)
def test_canonical_form_round_trips(raw: dict[str, Any]) -> None:
    found = read(raw)

    again = read(found.as_json())
    assert again == found
    assert hash(again) == hash(found)
    assert again.as_json() == found.as_json()


@given(filters, filters)
def test_merging_keeps_every_field_of_the_caller(raw: dict[str, Any], inferred: dict[str, Any]) -> None:
    caller = read(raw)

    merged = caller.merged_with(read(inferred)).as_json()
    for key, value in caller.as_json().items():
        if key == "facets":
            assert value.items() <= merged[key].items()
        else:
            assert merged[key] == value


@given(st.dictionaries(st.sampled_from(["source", "ids", "facets", "occurred_to", "x"]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["rating", "build", "y"]), inner, max_size=2),
    max_leaves=4,
)))  # fmt: skip
def test_any_json_is_read_or_refused(raw: dict[str, Any]) -> None:
    try:
        found = read(raw)
    except InvalidFilter:
        return

    assert read(found.as_json()) == found


@pytest.mark.parametrize("filters", [{"ids": ["a\x00b"]}, {"account": ["\ud800"]}, {"facets": {"build": ["x\x00"]}}])
def test_what_is_no_text_is_refused(filters):
    with pytest.raises(InvalidFilter, match="no text"):
        FilterSet.from_json(filters, vocabulary=VOCABULARY)
