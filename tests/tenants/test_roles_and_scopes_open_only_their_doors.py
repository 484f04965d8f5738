"""A role includes those below it, a key does what its scopes say, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Forbidden
from tenants.caller import Caller, operator
from tenants.domain.access import ApiSecret, Role, Scope

ORDER = [Role.VIEWER, Role.ANALYST, Role.CURATOR, Role.ADMIN]


class _Tenant:
    slug = "acme"


def _person(role: Role) -> Caller:
    return Caller(tenant=_Tenant(), label="somebody", role=role)


def _key(*scopes: Scope) -> Caller:
    return Caller(tenant=_Tenant(), label="key", scopes=frozenset(scopes))


@pytest.mark.parametrize("mine", ORDER)
@pytest.mark.parametrize("needed", ORDER)
def test_a_role_includes_exactly_those_below(mine, needed):
    assert mine.includes(needed) == (ORDER.index(mine) >= ORDER.index(needed))


def test_a_role_too_low_is_told_what_is_needed():
    with pytest.raises(Forbidden, match="needs the role curator in acme; yours is analyst"):
        _person(Role.ANALYST).require(role=Role.CURATOR, scope=Scope.ADMIN)


def test_a_person_needs_no_scope():
    _person(Role.ANALYST).require(role=Role.ANALYST, scope=Scope.DOCUMENTS_WRITE)


@pytest.mark.parametrize("scope", Scope)
def test_a_key_does_what_its_scope_says(scope):
    _key(scope).require(role=Role.ADMIN, scope=scope)


@pytest.mark.parametrize("scope", Scope)
def test_a_key_without_the_scope_is_told_which(scope):
    others = set(Scope) - {scope, Scope.ADMIN}

    with pytest.raises(Forbidden, match=scope):
        _key(*others).require(role=Role.VIEWER, scope=scope)


def test_the_admin_scope_opens_every_door():
    for scope in Scope:
        _key(Scope.ADMIN).require(role=Role.ADMIN, scope=scope)


def test_nobody_without_role_and_scopes_gets_in():
    with pytest.raises(Forbidden):
        Caller(tenant=_Tenant(), label="nobody").require(role=Role.VIEWER, scope=Scope.DOCUMENTS_READ)


def test_the_operator_may_do_everything():
    operator(_Tenant()).require(role=Role.ADMIN, scope=Scope.ADMIN)


@given(
    prefix=st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=8, max_size=8),
    secret=st.text("abcXYZ019_-", min_size=32, max_size=64),
)
def test_a_key_is_read_back_as_it_was_shown(prefix, secret):
    key = ApiSecret(prefix=prefix, secret=secret)

    assert ApiSecret.parse(str(key)) == key
    assert key.matches(key.digest())


@given(st.text())
def test_any_text_is_a_key_or_none(text):
    parsed = ApiSecret.parse(text)

    assert parsed is None or str(parsed) == text


@pytest.mark.parametrize(
    "text", ["", "wsk_", "wsk_abcdefgh_short", "wsk_abcdefgh_" + "x" * 65, "wsk_abcdefgh_" + "x" * 40 + "\n"]
)
def test_what_is_not_shaped_like_a_key_is_none(text):
    assert ApiSecret.parse(text) is None


def test_another_secret_does_not_match():
    key = ApiSecret(prefix="abcdefgh", secret="x" * 40)

    assert not ApiSecret(prefix="abcdefgh", secret="y" * 40).matches(key.digest())
