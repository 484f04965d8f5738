"""Several slices in one request: each is searched by itself, and what they found is merged by rank alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.domain.filter_sets import Scope
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching, list_matching
from feedback.selectors.retrieval import rerank_hits, retrieve
from feedback.services.search import scope_of, search_corpus
from tests import factories
from tests.commands import Shell

QUERY = "late delivery"
TICKETS = {"name": "tickets", "source": ["support_ticket"]}
REVIEWS = {"name": "reviews", "source": ["app_review", "complaint"]}
HARBOUR = {"name": "harbour", "account": ["Harbour Cafe"]}


@pytest.fixture
def post(small_corpus: Any, client_of: Any, api_key: str) -> Callable[..., Any]:
    client = client_of(api_key)
    return lambda **body: client.post("/api/v1/search", {"q": QUERY, **body}, content_type="application/json")


def alone(corpus: Any, filters: FilterSet, top_k: int = 10) -> list[str]:
    with tenant_session(corpus.tenant):
        found = retrieve(corpus=corpus, query=QUERY, filters=filters, top_k=top_k)
        return [hit.doc_id for hit in rerank_hits(found, top_k=top_k, as_of=factories.NOW).hits]


def test_each_hit_names_its_sets_and_its_rank_in_each(small_corpus: Any, post: Callable[..., Any]) -> None:
    tickets = alone(small_corpus, FilterSet(source=("support_ticket",)))
    harbour = alone(small_corpus, FilterSet(account=("Harbour Cafe",)))

    found = post(filter_sets=[TICKETS, HARBOUR]).json()

    ranks = {(hit["doc_id"], place["name"]): place["rank"] for hit in found["hits"] for place in hit["sets"]}
    assert ranks == {
        **{(doc_id, "tickets"): rank for rank, doc_id in enumerate(tickets, start=1)},
        **{(doc_id, "harbour"): rank for rank, doc_id in enumerate(harbour, start=1)},
    }
    assert [each["name"] for each in found["filter_sets"]] == ["tickets", "harbour"]
    assert [each["hits"] for each in found["filter_sets"]] == [len(tickets), len(harbour)]


def test_a_record_of_two_sets_comes_once(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[TICKETS, HARBOUR]).json()

    ids = [hit["doc_id"] for hit in found["hits"]]
    assert len(ids) == len(set(ids))
    assert {"r-01", "r-09"} <= {hit["doc_id"] for hit in found["hits"] if len(hit["sets"]) == 2}


def test_the_order_is_that_of_the_best_rank_then_of_the_sets(post: Callable[..., Any]) -> None:
    hits = post(filter_sets=[TICKETS, REVIEWS]).json()["hits"]

    places = [
        min((place["rank"], ["tickets", "reviews"].index(place["name"])) for place in hit["sets"]) for hit in hits
    ]
    assert places == sorted(places)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


def test_top_k_is_of_each_set_and_a_set_may_have_its_own(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[TICKETS, {**REVIEWS, "top_k": 3}], top_k=1).json()

    assert [each["hits"] for each in found["filter_sets"]] == [1, 3]


def test_too_large_a_top_k_is_cut_and_noted_once(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[TICKETS, REVIEWS], top_k=500).json()

    assert found["notes"] == ["top_k 500 was cut to 100"]


def test_the_note_of_one_set_names_it(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[TICKETS, {**REVIEWS, "top_k": 101}]).json()

    assert found["notes"] == ["reviews: top_k 101 was cut to 100"]


def test_a_list_of_ids_overrides_the_rest_of_its_set(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[{"name": "one", "ids": ["r-05"], "source": ["survey"]}]).json()

    assert [hit["doc_id"] for hit in found["hits"]] == ["r-05"]


def test_sets_without_a_name_are_numbered(post: Callable[..., Any]) -> None:
    found = post(filter_sets=[{"source": ["support_ticket"]}, {"source": ["survey"]}]).json()

    assert [each["name"] for each in found["filter_sets"]] == ["set 1", "set 2"]


def test_an_empty_list_is_an_open_search(small_corpus: Any, post: Callable[..., Any]) -> None:
    found = post(filter_sets=[]).json()

    assert [hit["doc_id"] for hit in found["hits"]] == alone(small_corpus, FilterSet())
    assert "filter_sets" not in found
    assert "sets" not in found["hits"][0]


BAD = {
    "both kinds": ({"filters": {}, "filter_sets": [{}]}, "filter_sets"),
    "too many": ({"filter_sets": [{"name": f"s{n}"} for n in range(17)]}, "filter_sets"),
    "a name twice": ({"filter_sets": [{"name": "a"}, {"name": "a"}]}, "filter_sets"),
    "a blank name": ({"filter_sets": [{"name": " "}]}, "filter_sets"),
    "a name that is no text": ({"filter_sets": [{"name": 7}]}, "filter_sets"),
    "a name with a control": ({"filter_sets": [{"name": "a\u0000b"}]}, "filter_sets"),
    "an unknown value": ({"filter_sets": [{}, {"source": ["fax"]}]}, "source"),
    "an unknown key": ({"filter_sets": [{"sources": ["survey"]}]}, "filters"),
    "a union inside": ({"filter_sets": [{"any_of": [{}]}]}, "filter_sets"),
    "top_k of nothing": ({"filter_sets": [{"top_k": 0}]}, "top_k"),
    "a negative top_k": ({"filter_sets": [{}], "top_k": -1}, "top_k"),
    "a top_k that is no number": ({"filter_sets": [{"top_k": True}]}, "top_k"),
    "an empty period": ({"filter_sets": [{"occurred_from": "2026-02-01", "occurred_to": "2026-01-01"}]}, "occurred_to"),
}


@pytest.mark.parametrize(("body", "field"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    body: dict[str, Any], field: str, post: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.services.search.retrieve_scope", lambda **_: pytest.fail("a search ran"))

    response = post(**body)

    assert response.status_code == 422, response.content
    assert response.json()["error"]["detail"]["field"] == field


def test_the_fault_names_the_set_and_gives_the_vocabulary(post: Callable[..., Any]) -> None:
    error = post(filter_sets=[TICKETS, {"name": "b", "source": ["fax"]}]).json()["error"]

    assert error["message"].startswith("Filter set 2: ")
    assert "survey" in error["detail"]["vocabulary"]["sources"]


def test_sets_see_their_own_tenants_records_alone(
    small_corpus: Any, other_corpus: Any, ingest: Callable[..., Any], client_of: Any, stranger_key: str
) -> None:
    ingest(factories.make_document("theirs", "The stranger's late delivery."), into=other_corpus)

    found = client_of(stranger_key).post(
        "/api/v1/search",
        {"q": QUERY, "filter_sets": [{"ids": ["r-01"]}, {"account": ["Harbour Cafe"]}, {"source": ["survey"]}]},
        content_type="application/json",
    )

    assert [hit["doc_id"] for hit in found.json()["hits"]] == ["theirs"]


def test_an_address_takes_sets_as_json(
    small_corpus: Any, post: Callable[..., Any], client_of: Any, api_key: str
) -> None:
    sent = post(filter_sets=[TICKETS, REVIEWS]).json()

    found = client_of(api_key).get(
        "/api/v1/search", {"q": QUERY, "filter_set": [json.dumps(TICKETS), json.dumps(REVIEWS)]}
    )

    assert found.json() == sent


@pytest.mark.parametrize("sets", [["{"], ["[1]"], ["7"]])
def test_an_address_with_broken_json_is_refused(
    sets: list[str], post: Callable[..., Any], client_of: Any, api_key: str
) -> None:
    response = client_of(api_key).get("/api/v1/search", {"q": QUERY, "filter_set": sets})

    assert response.status_code == 422
    assert response.json()["error"]["detail"]["field"] == "filter_sets"


def test_the_command_takes_sets_and_gives_the_same(
    small_corpus: Any, post: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = post(filter_sets=[TICKETS, REVIEWS]).json()

    told = Shell(monkeypatch)(
        "search", QUERY, "--tenant", "acme", "--json",
        "--filter-set", json.dumps(TICKETS), "--filter-set", json.dumps(REVIEWS),
    )  # fmt: skip

    found = told.document
    assert [(hit["doc_id"], hit["sets"]) for hit in found["hits"]] == [
        (hit["doc_id"], hit["sets"]) for hit in sent["hits"]
    ]


def test_the_command_refuses_both_kinds_with_one_line(small_corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Shell(monkeypatch)("search", QUERY, "--tenant", "acme", "--filter", "source=survey", "--filter-set", "{}")

    assert told.status == 2
    assert "--filter-set" in told.complaint


def test_a_page_of_a_filing_comes_once(tenant: Any, ingest: Callable[..., Any]) -> None:
    corpus = factories.make_corpus(tenant=tenant, slug="filings", kind="filings")
    shared = {"ticker": "NVDA", "page_uid": "nvda-10q-p3", "source": "filing"}
    ingest(
        {"id": "upload-1", "text": "Revenue rose on data centre demand.", "fiscal_year": "FY24", **shared},
        {"id": "upload-2", "text": "Revenue rose on data centre demand.", "fiscal_year": 2023, **shared},
        into=corpus,
    )

    with tenant_session(tenant):
        scope = scope_of(corpus, None, [{"fiscal_years": ["FY24"]}, {"fiscal_years": [2023]}])
        found = search_corpus(corpus=corpus, query="revenue", scope=scope).found

    assert [(hit.doc_id, [place.name for place in hit.sets]) for hit in found.hits] == [
        ("upload-1", ["set 1", "set 2"])
    ]


def test_a_count_over_several_slices_counts_a_record_once(small_corpus: Any) -> None:
    one, other = FilterSet(source=("support_ticket",)), FilterSet(account=("Harbour Cafe",))
    union = FilterSet.union([one, other])

    with tenant_session(small_corpus.tenant):
        apart = [
            list_matching(corpus=small_corpus, selection=Selection(filters=part), limit=99) for part in (one, other)
        ]
        together = Selection(filters=union)
        listed = list_matching(corpus=small_corpus, selection=together, limit=99)
        counted = count_matching(corpus=small_corpus, selection=together)
        groups = group_matching(corpus=small_corpus, selection=together, by=Grouping.SOURCE)

    assert sorted(listed) == sorted({*apart[0], *apart[1]})
    assert len(set(apart[0]) & set(apart[1])) > 0
    assert counted.value == len(listed) == sum(group.count.value for group in groups)


@pytest.mark.parametrize("mode", Mode)
def test_a_search_of_one_slice_refuses_several_rather_than_ignore_them(small_corpus: Any, mode: Mode) -> None:
    union = FilterSet.union([FilterSet(source=("survey",)), FilterSet(source=("call",))])

    with tenant_session(small_corpus.tenant), pytest.raises(ValueError, match="one by one"):
        retrieve(corpus=small_corpus, query=QUERY, filters=union, mode=mode)


def test_an_unknown_pass_is_refused(post: Callable[..., Any]) -> None:
    response = post(passes=["friendly"])

    assert response.status_code == 422
    assert response.json()["error"]["detail"]["passes"] == ["neutral", "attributed", "contrasting"]


def test_the_scope_admits_all_when_one_of_its_sets_does(small_corpus: Any) -> None:
    with tenant_session(small_corpus.tenant):
        scope = scope_of(small_corpus, None, [TICKETS, {"name": "all"}])

    assert isinstance(scope, Scope)
    assert scope.admitted.is_empty


def test_filters_are_one_set_and_no_text(small_corpus: Any) -> None:
    with tenant_session(small_corpus.tenant), pytest.raises(InvalidInput, match="list of filter sets"):
        scope_of(small_corpus, None, {"source": ["survey"]})
