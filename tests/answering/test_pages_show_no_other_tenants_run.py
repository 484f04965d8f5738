"""A run's page exists for its own tenant alone; for anybody else it is as absent as one that never was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from answering.selectors import creation_window, get_run
from answering.services import ask
from core.errors import NotFound
from core.ids import new_id
from core.tenant_session import tenant_session
from tests.factories import make_document


@pytest.fixture
def location(corpus: Any, ingest: Callable[..., Any], member: Any, client_of: Any) -> str:
    ingest(make_document("p1", "Parking near the clinic is too expensive."))
    return str(client_of(member).post("/", {"q": "Is parking too expensive?"})["Location"])


def test_another_tenants_run_is_absent(location: str, stranger: Any, other_corpus: Any, client_of: Any) -> None:
    client = client_of(stranger)

    theirs, absent = client.get(location), client.get(f"/answers/{new_id()}")

    assert theirs.status_code == absent.status_code == 404
    assert _same(theirs) == _same(absent)


def _same(reply: Any) -> str:
    return str(reply.content.decode().replace(reply["X-Correlation-Id"], "…"))


def test_without_signing_in_an_answer_leads_to_the_sign_in(location: str, client: Any) -> None:
    reply = client.get(location)

    assert reply.status_code == 302
    assert reply["Location"].startswith("/sign-in?next=%2Fanswers%2F")


def test_a_key_that_may_not_ask_sees_no_answer(location: str, reading_key: str, client_of: Any) -> None:
    assert client_of(reading_key).get(location).status_code == 403


def test_the_history_is_the_tenants_own(location: str, stranger: Any, other_corpus: Any, client_of: Any) -> None:
    page = client_of(stranger).get("/").content.decode()

    assert "Is parking too expensive?" not in page
    assert location not in page


def test_pages_are_kept_by_nobody_on_the_way(location: str, member: Any, client_of: Any) -> None:
    assert "no-store" in client_of(member).get(location)["Cache-Control"]


def test_a_run_is_found_whatever_moment_it_was_given(corpus: Any, caller: Any, now: Any) -> None:
    run_id = ask(caller=caller, question="Is parking too expensive?", now=now)["run_id"]

    with tenant_session(caller.tenant):
        found = get_run(tenant=caller.tenant, run_id=UUID(run_id))

    assert found.created_at == now


def test_an_unknown_run_is_not_found(corpus: Any, caller: Any) -> None:
    with tenant_session(caller.tenant), pytest.raises(NotFound):
        get_run(tenant=caller.tenant, run_id=uuid4())


def test_an_id_tells_when_its_run_was_made() -> None:
    window = creation_window(new_id())

    assert window is not None
    assert window[0] < datetime.now(tz=UTC) < window[1]
    assert window[1] - window[0] == timedelta(days=2)


@pytest.mark.parametrize(
    "run_id", [uuid4(), UUID("ffffffff-ffff-7fff-bfff-ffffffffffff"), UUID("00000000-0000-7000-8000-000000000000")]
)
def test_an_id_that_tells_nothing_useful_breaks_nothing(run_id: UUID) -> None:
    window = creation_window(run_id)

    assert window is None or window[0] < window[1]
