"""A setting that stored data depends on is refused with another value than the data was made with."""

from __future__ import annotations

import psycopg
import pytest
from django.conf import settings

from core.configuration import BadSetting, WisdomSettings
from core.database_roles import FIXED, verify_fixed_settings
from tests.databases import UnsafeApplicationRole, verify_application_role


@pytest.fixture
def as_stored() -> WisdomSettings:
    return settings.WISDOM


def test_the_values_of_the_first_migration_are_accepted(db, as_stored):
    verify_fixed_settings(as_stored)


def test_every_fixed_setting_is_written_down(owner_connection, as_stored):
    stored = dict(owner_connection.execute("SELECT name, value FROM core_fixedsetting").fetchall())

    assert stored == {name: str(getattr(as_stored, name)) for name in FIXED}


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("tenant_shards", 8),
        ("partition_span_months", 3),
        ("embedding_dim", 64),
        ("embedding_seed", 1),
        ("ngram_size", 3),
    ],
)
def test_another_value_stops_the_start_with_the_variable(db, as_stored, name, other):
    changed = as_stored.model_copy(update={name: other})

    with pytest.raises(
        BadSetting, match=f"WA_{name.upper()}={other}: .* {getattr(as_stored, name)}, which can't change"
    ):
        verify_fixed_settings(changed)


def test_a_second_migration_keeps_the_first_values(db, as_stored, owner_connection):
    from core.database_roles import record_fixed_settings

    class Connection:
        introspection = type("I", (), {"table_names": staticmethod(lambda: ["core_fixedsetting"])})

        def cursor(self) -> psycopg.Cursor:
            return owner_connection.cursor()

    record_fixed_settings(Connection(), as_stored.model_copy(update={"tenant_shards": 64}))

    stored = dict(owner_connection.execute("SELECT name, value FROM core_fixedsetting").fetchall())
    assert stored["tenant_shards"] == str(as_stored.tenant_shards)


def test_the_tests_refuse_a_role_that_policies_dont_hold(test_database, monkeypatch):
    from django.db import connections

    as_owner = connections["owner"].get_connection_params()
    monkeypatch.setattr(connections["default"], "get_connection_params", lambda: dict(as_owner))

    with pytest.raises(UnsafeApplicationRole):
        verify_application_role(test_database.name)
