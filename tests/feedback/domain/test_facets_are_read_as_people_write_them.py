"""A declared facet is read as people write it, in records and in filters alike; a union of slices is one filter."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.facets import FILINGS_FACETS, BadFacetError, FacetRule, normalised, read_facets, read_rule
from feedback.domain.filters import FacetVocabulary, FilterSet, InvalidFilter, Vocabulary

GRID = Vocabulary(
    sources=("filing",),
    facets={rule.name: FacetVocabulary(rule.type, rule.values, rule.normaliser, rule.relax) for rule in FILINGS_FACETS},
    kind="filings",
)
RULES = {rule.name: rule for rule in FILINGS_FACETS}
YEARS = ["FY22", "fy 2022", "FY-22", "fiscal 2022", "Fiscal Year 2022", "’22", "2022", 2022, 22, 2022.0]
QUARTERS = ["Q3", "q3", "3Q", "Quarter 3", "fiscal Q3", "3", 3, 3.0]


@pytest.mark.parametrize("written", YEARS)
def test_a_fiscal_year_is_a_number_however_it_is_written(written: str | int | float) -> None:
    assert read_facets({"fiscal_year": written}, rules=RULES) == {"fiscal_year": 2022}
    assert FilterSet.from_json({"fiscal_years": [written]}, vocabulary=GRID).facets == {"fiscal_year": (2022,)}


@pytest.mark.parametrize("written", QUARTERS)
def test_a_quarter_is_a_number_from_1_to_4(written: str | int | float) -> None:
    assert read_facets({"fiscal_quarter": written}, rules=RULES) == {"fiscal_quarter": 3}
    assert FilterSet.from_json({"fiscal_quarters": written}, vocabulary=GRID).facets == {"fiscal_quarter": (3,)}


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("fiscal_quarter", "Q5"),
        ("fiscal_quarter", 0),
        ("fiscal_quarter", True),
        ("fiscal_quarter", "Q33"),
        ("fiscal_year", "FY123"),
        ("fiscal_year", "last year"),
        ("fiscal_year", 1234),
        ("fiscal_year", False),
        ("fiscal_year", 20.22),
    ],
)
def test_what_is_no_year_or_quarter_is_refused_in_records_and_filters(key: str, written: str | float) -> None:
    with pytest.raises(BadFacetError, match="is expected"):
        read_facets({key: written}, rules=RULES)
    with pytest.raises(InvalidFilter, match="is expected"):
        FilterSet.from_json({f"{key}s": [written]}, vocabulary=GRID)


def test_every_key_of_the_grid_is_a_facet_and_tickers_are_capitals() -> None:
    found = FilterSet.from_json(
        {
            "tickers": ["nvda"],
            "content_types": ["10-Q"],
            "event_types": ["call"],
            "content_uids": ["u-1"],
            "fiscal_years": ["FY24", 2024],
        },
        vocabulary=GRID,
    )

    assert found.facets == {
        "ticker": ("NVDA",),
        "content_type": ("10-Q",),
        "event_type": ("call",),
        "content_uid": ("u-1",),
        "fiscal_year": (2024,),
    }


def test_the_vocabulary_of_a_tool_says_how_values_are_read() -> None:
    shown = GRID.as_json()

    assert shown["facets"]["fiscal_quarter"] == {
        "type": "integer",
        "values": ["1", "2", "3", "4"],
        "normaliser": "fiscal_quarter",
    }
    assert {"tickers", "fiscal_years", "fiscal_quarters", "content_types", "event_types", "content_uids"} <= {
        *shown["keys"]
    }


def test_a_declaration_is_read_back_as_it_was_written() -> None:
    assert [read_rule(rule.as_json()) for rule in FILINGS_FACETS] == list(FILINGS_FACETS)
    declared = read_rule({"name": "q", "type": "integer", "normaliser": "fiscal_quarter", "values": ["Q1", "Q2"]})
    assert declared == FacetRule("q", "integer", ("1", "2"), "fiscal_quarter")


@given(st.one_of(st.text(max_size=30), st.integers(), st.booleans(), st.floats(allow_nan=False)))
def test_what_a_normaliser_gives_it_leaves_alone(value: str | float) -> None:
    for normaliser in ("fiscal_year", "fiscal_quarter", "upper", "lower"):
        with suppress(ValueError):
            once = normalised(value, normaliser)
            assert normalised(once, normaliser) == once


SLICES = st.lists(
    st.builds(
        FilterSet,
        source=st.lists(st.sampled_from(["filing"]), max_size=1).map(tuple),
        account=st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
        ids=st.lists(st.sampled_from(["1", "2"]), max_size=1).map(tuple),
    ),
    max_size=4,
)


@given(SLICES)
def test_a_union_is_the_same_in_any_order_and_survives_its_json(slices: list[FilterSet]) -> None:
    union = FilterSet.union(slices)

    assert union == FilterSet.union(reversed(slices)) == FilterSet.union([union, *slices])
    assert hash(union) == hash(FilterSet.union(reversed(slices)))
    assert FilterSet.from_json(union.as_json(), vocabulary=GRID) == union
    assert union.is_empty == (not slices or any(part.is_empty for part in slices))


@given(SLICES)
def test_what_is_inferred_narrows_every_slice_and_no_list_of_ids(slices: list[FilterSet]) -> None:
    narrowed = FilterSet.union(slices).merged_with(FilterSet(account=("c",)))

    assert all(part.ids or part.account for part in narrowed.slices)
    assert {part.ids for part in narrowed.slices} <= {part.ids for part in slices} | {()}


@pytest.mark.parametrize(
    "raw", [{"any_of": []}, {"any_of": [{}] * 17}, {"any_of": [{}], "source": ["filing"]}, {"any_of": [{"any_of": [{}]}]}, {"any_of": "x"}, {"any_of": [7]}]
)  # fmt: skip
def test_a_union_that_cannot_be_meant_is_refused(raw: dict[str, object]) -> None:
    with pytest.raises(InvalidFilter):
        FilterSet.from_json(raw, vocabulary=GRID)
