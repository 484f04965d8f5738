"""The tenant comes from the credential; another tenant's name is answered like a name that nobody has."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import NotAuthenticated, NotFound
from tenants.domain.access import ApiSecret, Role, Scope
from tenants.models import ApiKey
from tenants.selectors import (
    find_caller_of_user,
    find_tenant,
    get_caller_of_key,
    get_tenant,
    list_tenants_of_user,
)
from tenants.services import add_member, create_api_key, revoke_api_key
from tests.factories import NOW, make_tenant


@pytest.fixture
def made(tenant):
    return create_api_key(tenant=tenant, name="till", scopes=[Scope.ASK], now=NOW, expires_at=NOW + timedelta(days=30))


def _caller(secret, *, chosen=None, now=NOW):
    return get_caller_of_key(token=str(secret), chosen=chosen, address="192.0.2.1", now=now)


def test_a_key_stands_for_its_tenant_with_its_scopes(made, tenant):
    key, secret = made

    caller = _caller(secret)

    assert (caller.tenant, caller.role, caller.scopes) == (tenant, None, {Scope.ASK})
    assert (caller.key_id, caller.label, caller.address) == (key.id, "key till", "192.0.2.1")


def test_only_the_digest_of_a_key_is_kept(made):
    key, secret = made
    stored = ApiKey.objects.values_list().get(pk=key.pk)

    assert secret.secret not in repr(stored)
    assert secret.secret not in str(key)
    assert secret.prefix in str(key)


def test_a_wrong_secret_with_a_known_prefix_is_refused(made):
    _, secret = made

    with pytest.raises(NotAuthenticated):
        _caller(ApiSecret(prefix=secret.prefix, secret="x" * 43))


def test_an_expired_key_is_refused_from_that_moment(made):
    _, secret = made
    _caller(secret, now=NOW + timedelta(days=30) - timedelta(seconds=1))

    with pytest.raises(NotAuthenticated):
        _caller(secret, now=NOW + timedelta(days=30))


def test_a_revoked_key_is_refused_at_once(made):
    key, secret = made

    revoke_api_key(key=key, now=NOW)

    with pytest.raises(NotAuthenticated):
        _caller(secret)


def test_revoking_twice_keeps_the_first_moment(made):
    key, _ = made

    revoke_api_key(key=key, now=NOW)
    revoke_api_key(key=key, now=NOW + timedelta(days=1))

    key.refresh_from_db()
    assert key.revoked_at == NOW


def test_unknown_revoked_and_expired_keys_are_refused_in_the_same_words(made):
    key, secret = made
    said = set()
    for token, now in ((f"wsk_abcdefgh_{'x' * 43}", NOW), ("nonsense", NOW), (secret, NOW + timedelta(days=31))):
        with pytest.raises(NotAuthenticated) as raised:
            _caller(token, now=now)
        said.add((raised.value.message, raised.value.error_code))
    revoke_api_key(key=key, now=NOW)
    with pytest.raises(NotAuthenticated) as raised:
        _caller(secret)

    assert said == {(raised.value.message, raised.value.error_code)}


def test_a_key_may_name_its_own_tenant(made, tenant):
    assert _caller(made[1], chosen=tenant.slug).tenant == tenant


def test_a_key_that_names_another_tenant_is_told_what_it_would_be_told_of_none(made, other_tenant):
    told = []
    for chosen in (other_tenant.slug, "nobody-has-this"):
        with pytest.raises(NotFound) as raised:
            _caller(made[1], chosen=chosen)
        told.append((raised.value.message, raised.value.error_code, raised.value.detail))

    assert told[0] == told[1]


def test_the_last_use_is_written_at_most_once_a_minute(made):
    key, secret = made
    for seconds in (0, 30, 59, 61):
        _caller(secret, now=NOW + timedelta(seconds=seconds))

    key.refresh_from_db()
    assert key.last_used_at == NOW + timedelta(seconds=61)


def test_a_scope_that_this_version_does_not_know_opens_nothing(made):
    key, secret = made
    ApiKey.objects.filter(pk=key.pk).update(scopes=["ask", "everything"])

    assert _caller(secret).scopes == {Scope.ASK}


def test_a_person_is_who_they_are_in_the_tenant_that_they_chose(member, tenant, other_tenant):
    add_member(tenant=other_tenant, username="member", password=None, role=Role.VIEWER, now=NOW + timedelta(days=1))

    first = find_caller_of_user(user=member, chosen=None, address="")
    chosen = find_caller_of_user(user=member, chosen=other_tenant.slug, address="")

    assert (first.tenant, first.role) == (tenant, Role.ANALYST)
    assert (chosen.tenant, chosen.role) == (other_tenant, Role.VIEWER)
    assert list_tenants_of_user(user=member) == [tenant, other_tenant]


def test_a_person_who_chooses_anothers_tenant_is_told_what_they_would_be_told_of_none(stranger, tenant):
    told = []
    for chosen in (tenant.slug, "nobody-has-this"):
        with pytest.raises(NotFound) as raised:
            find_caller_of_user(user=stranger, chosen=chosen, address="")
        told.append((raised.value.message, raised.value.error_code, raised.value.detail))

    assert told[0] == told[1]


def test_a_person_without_a_tenant_is_nobody(django_user_model, db):
    loner = django_user_model.objects.create_user(username="loner")

    assert find_caller_of_user(user=loner, chosen=None, address="") is None


def test_tenants_are_found_by_their_names(tenant):
    assert find_tenant(slug="acme") == tenant
    assert find_tenant(slug="nobody-has-this") is None
    with pytest.raises(NotFound, match="nobody-has-this"):
        get_tenant(slug="nobody-has-this")


def test_tenants_are_not_found_by_part_of_their_names(db):
    make_tenant(slug="acme-uk")

    assert find_tenant(slug="acme") is None
