"""The database, the clock and the cast that most tests need: two tenants that hold the same ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tenants.domain.access import Role, Scope
from tests import factories

if TYPE_CHECKING:
    import psycopg
    from django.contrib.auth.models import User
    from django.test import Client

    from feedback.models import Corpus
    from feedback.services.ingest import IngestResult
    from tenants.caller import Caller
    from tenants.models import Tenant
    from tests.databases import TestDatabase

hypothesis.settings.register_profile(
    "default",
    deadline=None,  # two cores shared with a database: time says nothing here
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("ci", parent=hypothesis.settings.get_profile("default"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def test_database(django_test_environment: None, django_db_blocker: Any) -> Iterator[TestDatabase]:
    """Give this process's database; it is dropped at the end."""
    from django.test import TransactionTestCase

    from tests.databases import TestDatabase, empty_tables

    database = TestDatabase()
    with django_db_blocker.unblock():
        database.create()
    with pytest.MonkeyPatch.context() as patch:
        # Django would flush as the application's role, which may not truncate.
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty_tables(database.name))
        yield database
    with django_db_blocker.unblock():
        database.drop()


@pytest.fixture(scope="session")
def django_db_setup(test_database: TestDatabase) -> None:
    """Stand in for pytest-django's, which would make the database as the application's role."""


@pytest.fixture(autouse=True)
def _no_memory_of_partitions(request: pytest.FixtureRequest) -> None:
    """Forget which partitions exist: those that a test made are rolled back after it."""
    if "db" in request.fixturenames or "transactional_db" in request.fixturenames:
        from feedback.services import partitions

        partitions._present.clear()


@pytest.fixture
def owner_connection(test_database: TestDatabase, db: None) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection as the owner of the schema; it sees what is committed, and each statement commits."""
    from tests.databases import connect_as

    with connect_as("owner", test_database.name) as connection:
        yield connection


@pytest.fixture
def app_connection(test_database: TestDatabase, db: None) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection as the application's role without Django between; each statement commits."""
    from tests.databases import connect_as

    with connect_as("default", test_database.name) as connection:
        yield connection


@pytest.fixture
def now() -> datetime:
    return factories.NOW


@pytest.fixture
def tenant(db: None) -> Tenant:
    return factories.make_tenant(slug="acme")


@pytest.fixture
def other_tenant(db: None) -> Tenant:
    return factories.make_tenant(slug="globex")


@pytest.fixture
def corpus(tenant: Tenant) -> Corpus:
    """Give the tenant's default corpus, empty."""
    return factories.make_corpus(tenant=tenant)


@pytest.fixture
def other_corpus(other_tenant: Tenant) -> Corpus:
    """Give the other tenant's corpus, of the same name."""
    return factories.make_corpus(tenant=other_tenant)


@pytest.fixture
def caller(tenant: Tenant) -> Caller:
    """Give the tenant's operator, who may do everything there."""
    from tenants.caller import operator

    return operator(tenant)


@pytest.fixture
def viewer(tenant: Tenant) -> User:
    return factories.make_user(tenant=tenant, role=Role.VIEWER, username="viewer")


@pytest.fixture
def member(tenant: Tenant) -> User:
    """Give an analyst of the tenant."""
    return factories.make_user(tenant=tenant, role=Role.ANALYST, username="member")


@pytest.fixture
def curator(tenant: Tenant) -> User:
    return factories.make_user(tenant=tenant, role=Role.CURATOR, username="curator")


@pytest.fixture
def admin(tenant: Tenant) -> User:
    return factories.make_user(tenant=tenant, role=Role.ADMIN, username="admin")


@pytest.fixture
def stranger(other_tenant: Tenant) -> User:
    """Give somebody who may do everything, in the other tenant."""
    return factories.make_user(tenant=other_tenant, role=Role.ADMIN, username="stranger")


@pytest.fixture
def api_key(tenant: Tenant) -> str:
    """Give the secret of a key of the tenant that reads, writes and asks."""
    return factories.make_key(tenant=tenant, scopes=[Scope.DOCUMENTS_READ, Scope.DOCUMENTS_WRITE, Scope.ASK])


@pytest.fixture
def reading_key(tenant: Tenant) -> str:
    """Give the secret of a key of the tenant that only reads documents."""
    return factories.make_key(tenant=tenant, scopes=[Scope.DOCUMENTS_READ], name="reading")


@pytest.fixture
def stranger_key(other_tenant: Tenant) -> str:
    """Give the secret of a key with every scope, of the other tenant."""
    return factories.make_key(tenant=other_tenant)


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def bearer() -> Callable[[str], dict[str, str]]:
    """Give the function that makes the headers of a request from a key's secret."""
    return _headers


@pytest.fixture
def client_of() -> Callable[[User | str], Client]:
    """Give the function that makes a client from who uses it: a person who is signed in, or a key's secret."""
    from django.test import Client

    def make(who: User | str) -> Client:
        if isinstance(who, str):
            return Client(headers=_headers(who))
        client = Client()
        client.force_login(who, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make


@pytest.fixture
def ingest(request: pytest.FixtureRequest) -> Callable[..., IngestResult]:
    """Give the function that stores documents as the operator, in the corpus `into`, by default `corpus`.

    Other named arguments are those of `ingest_documents`.
    """
    from feedback.services.ingest import ingest_documents
    from tenants.caller import operator

    def store(*documents: object, into: Corpus | None = None, **options: Any) -> IngestResult:
        corpus: Corpus = into or request.getfixturevalue("corpus")
        options.setdefault("now", factories.NOW)
        return ingest_documents(
            caller=operator(corpus.tenant), corpus=corpus, rows=factories.rows(*documents), **options
        )

    return store


@pytest.fixture
def small_corpus(corpus: Corpus, ingest: Callable[..., IngestResult]) -> Corpus:
    """Give the tenant's corpus with a dozen records in it."""
    ingest(*factories.SMALL_CORPUS)
    return corpus


@pytest.fixture(scope="session")
def _server(test_database: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from tests.live_server import serving
    from wisdom_project.server import free_port

    folder = tmp_path_factory.mktemp("server")
    with serving(database=test_database.name, port=free_port("127.0.0.1"), folder=folder) as url:
        yield url


@pytest.fixture
def live_url(transactional_db: None, _server: str, small_corpus: Corpus, member: User) -> str:
    """Give the address of the real server, which has `small_corpus`; `member` signs in with factories.PASSWORD."""
    return _server
