"""Signing in leads to the page that was wanted, to no other site, and is throttled; signing out needs a form."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.factories import PASSWORD


def sign_in(client: Any, *, username: str = "member", password: str = PASSWORD, query: str = "", next: str = "") -> Any:
    return client.post(f"/sign-in{query}", {"username": username, "password": password, "next": next})


def test_a_person_gets_to_the_page_that_they_wanted(member: Any, client: Any) -> None:
    reply = sign_in(client, next="/records/d1?start=0&end=3")

    assert reply.status_code == 302
    assert reply["Location"] == "/records/d1?start=0&end=3"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_no_other_site_is_ever_the_target(member: Any, client: Any, target: str) -> None:
    reply = sign_in(client, next=target)

    assert reply["Location"] == "/"


def test_the_wanted_page_survives_a_typing_error(member: Any, client: Any) -> None:
    reply = sign_in(client, password="wrong", next="/records/d1")

    page = reply.content.decode()
    assert reply.status_code == 422
    assert 'name="next" value="/records/d1"' in page
    assert 'value="member"' in page
    assert 'role="alert"' in page
    assert "wrong" not in page


def test_an_unknown_name_and_a_wrong_password_are_told_alike(member: Any, client: Any) -> None:
    wrong = sign_in(client, password="wrong").content.decode().replace("member", "…")
    unknown = sign_in(client, username="nobody", password="wrong").content.decode().replace("nobody", "…")

    assert _without_token(wrong) == _without_token(unknown)


def _without_token(page: str) -> str:
    return "".join(line for line in page.splitlines(keepends=True) if "csrfmiddlewaretoken" not in line)


def test_many_wrong_passwords_close_the_door_for_a_while(member: Any, client: Any) -> None:
    for _ in range(8):
        sign_in(client, password="wrong")

    reply = sign_in(client)

    assert reply.status_code == 429
    assert reply["Retry-After"] == "900"
    assert "Too many attempts" in reply.content.decode()


def test_signing_in_needs_the_forms_token(member: Any) -> None:
    reply = sign_in(Client(enforce_csrf_checks=True))

    assert reply.status_code == 403
    assert "This form has expired" in reply.content.decode()


def test_signing_out_ends_the_session(member: Any, client_of: Any) -> None:
    client = client_of(member)

    reply = client.post("/sign-out")

    assert reply["Location"] == "/sign-in"
    assert client.get("/").status_code == 302


def test_a_link_cant_sign_anybody_out(member: Any, client_of: Any) -> None:
    client = client_of(member)

    reply = client.get("/sign-out")

    assert reply.status_code == 405
    assert client.get("/").status_code == 200


def test_somebody_who_is_signed_in_goes_on_at_once(member: Any, client_of: Any) -> None:
    reply = client_of(member).get("/sign-in?next=/records/d1")

    assert reply["Location"] == "/records/d1"


@pytest.mark.django_db
def test_a_person_without_a_tenant_is_told_what_to_do(client_of: Any) -> None:
    lost = get_user_model().objects.create_user("lost", password=PASSWORD)

    reply = client_of(lost).get("/")

    page = reply.content.decode()
    assert reply.status_code == 401
    assert "belongs to no tenant yet" in page
    assert 'action="/sign-out"' in page


@pytest.mark.django_db
def test_the_sign_in_page_shows_no_tenants_data(client: Any) -> None:
    reply = client.get("/sign-in")

    assert reply.status_code == 200
    assert "Sign out" not in reply.content.decode()
