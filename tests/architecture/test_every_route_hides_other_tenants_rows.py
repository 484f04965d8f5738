"""Over every route that exists: a stranger gets nothing of another tenant's row, not even that it is there.

Both tenants hold the same external ids. A route with a parameter that isn't known here fails the test:
whoever adds one says how it is to be called.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from answering.services import ask
from core.tenant_session import tenant_session
from feedback.services.jobs import submit_batch
from tenants.caller import operator

SECRET = "zanzibar-secret-text"
SECRET_ACCOUNT = "Zanzibar Secret Account"
SHARED_ID = "shared-1"
ONLY_OURS = "ours-only"
# Pages that show no tenant's data at all; each is open on purpose, or Django's own.
WITHOUT_TENANT = {"health", "ready", "metrics", "schema", "sign-in", "sign-out"}


@dataclass(frozen=True)
class Route:
    template: str
    name: str
    parameters: tuple[str, ...]


def routes() -> Iterator[Route]:
    yield from _walk(get_resolver().url_patterns, "", ())


def _walk(patterns: Any, prefix: str, parameters: tuple[str, ...]) -> Iterator[Route]:
    for pattern in patterns:
        template = prefix + str(pattern.pattern)
        names = parameters + tuple(pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLResolver):
            if template.startswith("admin/"):
                continue  # superusers of the installation only: see the test below
            yield from _walk(pattern.url_patterns, template, names)
        elif isinstance(pattern, URLPattern):
            yield Route(template, pattern.name or "", names)


@dataclass(frozen=True)
class Ours:
    """The ids of the tenant whose rows must stay hidden."""

    run_id: str
    job_id: str
    query_id: str
    doc_id: str


@pytest.fixture
def ours(corpus: Any, other_corpus: Any, ingest: Callable[..., Any], caller: Any, now: Any) -> Ours:
    document = {"text": f"The {SECRET} delivery was late.", "account": SECRET_ACCOUNT, "language": "en"}
    ingest({"id": SHARED_ID, **document}, {"id": ONLY_OURS, **document})
    ingest({"id": SHARED_ID, "text": "The stranger's own delivery was early.", "language": "en"}, into=other_corpus)
    answer = ask(caller=caller, question="Was the delivery late?", now=now)
    measure = next(claim["measure"] for claim in answer["claims"] if claim["measure"])
    documents = [{"id": f"b{number}", "text": SECRET} for number in range(3)]
    job = submit_batch(caller=caller, corpus=corpus, documents=documents, batch_id=SECRET, now=now)
    return Ours(answer["run_id"], str(job.id), measure["query_id"], ONLY_OURS)


def urls_of(route: Route, values: dict[str, str]) -> str:
    url = "/" + route.template
    for name in route.parameters:
        assert name in values, f"{route.template}: say in this test what {name} is, so that the route is tried"
        start = url.index("<")
        end = url.index(">", start)
        url = url[:start] + values[name] + url[end + 1 :]
    return url


@pytest.mark.parametrize("credential", ["session", "key"])
def test_a_stranger_gets_404_and_no_byte_of_the_row(
    ours: Ours, stranger: Any, stranger_key: str, client_of: Any, credential: str
) -> None:
    client = client_of(stranger if credential == "session" else stranger_key)
    theirs = {"run_id": ours.run_id, "job_id": ours.job_id, "query_id": ours.query_id, "doc_id": ours.doc_id}
    absent = {
        "run_id": str(uuid.uuid4()),
        "job_id": str(uuid.uuid4()),
        "query_id": "q_000000000000000000000000",
        "doc_id": "no-such-record",
    }
    tried = 0
    for route in routes():
        if route.name in WITHOUT_TENANT:
            continue
        for method in ("get", "post", "put", "patch", "delete"):
            reply = getattr(client, method)(urls_of(route, theirs))
            body = reply.content.decode(errors="replace")
            assert SECRET not in body, f"{method} {route.template} tells a stranger of the row"
            assert SECRET_ACCOUNT not in body, f"{method} {route.template} tells a stranger of the account"
            assert reply.status_code != 500, f"{method} {route.template}"
            if route.parameters and method == "get" and reply.status_code != 405:
                assert reply.status_code == 404, f"{method} {route.template} answered {reply.status_code}"
                missing = client.get(urls_of(route, absent))
                assert _shape(reply, theirs) == _shape(missing, absent), f"{route.template} tells the two apart"
        tried += 1
    assert tried >= 8


def _shape(reply: Any, ids: dict[str, str]) -> tuple[int, str]:
    """Return the status and the body without what differs from request to request."""
    body = reply.content.decode()
    for value in [reply.headers["X-Correlation-Id"], *ids.values()]:
        body = body.replace(value, "…")
    return reply.status_code, body


def test_the_same_external_id_shows_each_tenant_its_own_row(
    ours: Ours, stranger: Any, member: Any, client_of: Any
) -> None:
    theirs = client_of(stranger).get(f"/records/{SHARED_ID}").content.decode()
    mine = client_of(member).get(f"/records/{SHARED_ID}").content.decode()

    assert SECRET in mine
    assert SECRET not in theirs
    assert "own delivery was early" in theirs


def test_searching_and_asking_find_the_strangers_own_rows_only(ours: Ours, stranger_key: str, client_of: Any) -> None:
    client = client_of(stranger_key)

    found = client.get("/api/v1/search", {"q": f"{SECRET} delivery"}).json()
    by_id = client.get("/api/v1/search", {"q": "delivery", "filter": f"ids={ONLY_OURS}"}).json()
    answer = client.post(
        "/api/v1/ask",
        {"question": f"What about the {SECRET} delivery?", "include": ["hits", "documents", "trace"]},
        content_type="application/json",
    )

    assert [hit["doc_id"] for hit in found["hits"]] == [SHARED_ID]
    assert "own delivery was early" in found["hits"][0]["text"]
    assert by_id["hits"] == []
    texts = json.dumps([document["text"] for document in answer.json()["documents"]])
    assert SECRET not in texts


def test_choosing_another_tenant_is_404(
    ours: Ours, stranger_key: str, stranger: Any, tenant: Any, client_of: Any
) -> None:
    for client in (client_of(stranger_key), client_of(stranger)):
        reply = client.get("/api/v1/search", {"q": "delivery"}, headers={"X-Tenant-Id": tenant.slug})
        unknown = client.get("/api/v1/search", {"q": "delivery"}, headers={"X-Tenant-Id": "no-such-tenant"})

        assert reply.status_code == unknown.status_code == 404
        assert SECRET not in reply.content.decode()
        without_id = [r.json()["error"] | {"request_id": ""} for r in (reply, unknown)]
        assert without_id[0] == without_id[1]


def test_without_a_credential_every_route_is_closed(ours: Ours, client: Any) -> None:
    values = {"run_id": ours.run_id, "job_id": ours.job_id, "query_id": ours.query_id, "doc_id": ours.doc_id}
    for route in routes():
        if route.name in WITHOUT_TENANT:
            continue
        for method in ("get", "post"):
            reply = getattr(client, method)(urls_of(route, values))
            assert reply.status_code in {302, 401, 403, 405}, f"{method} {route.template} answered {reply.status_code}"
            assert SECRET not in reply.content.decode(errors="replace")


def test_a_viewer_may_not_write(ours: Ours, viewer: Any, client_of: Any) -> None:
    reply = client_of(viewer).post("/api/v1/documents:batch", {"documents": []}, content_type="application/json")

    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "forbidden"


def test_a_key_reaches_as_far_as_its_scopes(ours: Ours, reading_key: str, client_of: Any) -> None:
    client = client_of(reading_key)

    assert client.get("/api/v1/search", {"q": "delivery"}).status_code == 200
    assert client.post("/api/v1/ask", {"question": "Late?"}, content_type="application/json").status_code == 403


def test_the_admin_is_for_superusers_alone(admin: Any, client_of: Any) -> None:
    assert client_of(admin).get("/admin/").status_code == 302


def test_what_the_operator_owns_is_not_reached_by_a_session_of_another_tenant(tenant: Any, other_tenant: Any) -> None:
    inner = tenant_session(operator(other_tenant).tenant)

    with tenant_session(tenant), pytest.raises(RuntimeError, match="another tenant"), inner:
        pass
