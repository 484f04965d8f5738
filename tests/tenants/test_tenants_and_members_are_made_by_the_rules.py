"""A tenant has one name that fits an address; a person has one role in it and a password worth the name."""

from __future__ import annotations

import pytest

from core.errors import Conflict, InvalidInput
from tenants.domain.access import Role
from tenants.models import Membership, Tenant
from tenants.services import add_member, create_tenant
from tests.factories import NOW, PASSWORD


@pytest.mark.parametrize("slug", ["a", "acme", "acme-2", "7", "x" * 63])
def test_a_name_that_fits_an_address_is_taken(db, slug):
    assert create_tenant(slug=slug, name="Acme", now=NOW).slug == slug


@pytest.mark.parametrize("slug", ["", "Acme", "-acme", "acme_uk", "acme uk", "acmé", "x" * 64, "acme\n", "../etc"])
def test_another_name_is_refused(db, slug):
    with pytest.raises(InvalidInput, match="can't be a tenant's name"):
        create_tenant(slug=slug, name="Acme", now=NOW)

    assert Tenant.objects.count() == 0


def test_a_name_that_is_taken_is_a_conflict_and_makes_no_tenant(tenant):
    with pytest.raises(Conflict, match="exists already"):
        create_tenant(slug=tenant.slug, name="Again", now=NOW)

    assert Tenant.objects.count() == 1


def test_a_new_member_signs_in_with_the_password(tenant, client):
    add_member(tenant=tenant, username="ann", password=PASSWORD, role=Role.VIEWER, now=NOW)

    user = Membership.objects.get(tenant=tenant).user
    assert user.check_password(PASSWORD)
    assert PASSWORD not in user.password


@pytest.mark.parametrize("password", [None, "", "short", "password123", "12345678901234"])
def test_a_weak_password_makes_no_account(tenant, django_user_model, password):
    with pytest.raises(InvalidInput) as raised:
        add_member(tenant=tenant, username="ann", password=password, role=Role.VIEWER, now=NOW)

    assert raised.value.field == "password"
    assert django_user_model.objects.count() == 0


def test_a_second_role_replaces_the_first_and_keeps_the_password(tenant):
    add_member(tenant=tenant, username="ann", password=PASSWORD, role=Role.VIEWER, now=NOW)

    user = add_member(tenant=tenant, username="ann", password="another one entirely", role=Role.ADMIN, now=NOW)

    assert Membership.objects.get(tenant=tenant, user=user).role == Role.ADMIN
    assert user.check_password(PASSWORD)


def test_the_database_takes_no_role_that_nobody_knows(member):
    from django.db import IntegrityError

    with pytest.raises(IntegrityError, match="membership_role_known"):
        Membership.objects.filter(user=member).update(role="owner")
