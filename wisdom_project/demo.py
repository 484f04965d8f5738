"""Set up what the demonstration shows: a tenant, a corpus, somebody who may ask, and feedback to ask about."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model

from core.configuration import PROJECT_ROOT
from core.errors import Conflict, NotAuthenticated, NotFound
from core.tenant_session import tenant_session
from feedback.importers.registry import open_file
from feedback.selectors.corpora import find_corpus
from feedback.services.corpora import create_corpus, declare_facets
from feedback.services.loading import Destination, Loaded, load
from tenants.domain.access import Role, Scope
from tenants.selectors import find_tenant, get_caller_of_key, list_tenants_of_user
from tenants.services import add_member, create_api_key, create_tenant

if TYPE_CHECKING:
    from tenants.models import Tenant

FILE = PROJECT_ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl"
TENANT = "demo"
CORPUS = "feedback"
USERNAME = "analyst"
QUESTION = "Why could people not pay in the app in the middle of March 2026?"
FACETS: list[dict[str, Any]] = [
    {"name": "rating", "type": "integer", "values": ["1", "2", "3", "4", "5"]},
    {"name": "platform", "type": "text"},
    {"name": "plan", "type": "text"},
    {"name": "region", "type": "text"},
    {"name": "app_version", "type": "text"},
]


@dataclass(frozen=True, slots=True)
class Access:
    """How to get in; kept in the state folder, so that it is the same at the next start."""

    username: str
    password: str
    api_key: str


@dataclass(frozen=True, slots=True)
class Demo:
    """The demonstration, ready to be served."""

    access: Access
    loaded: Loaded


def set_up(*, now: datetime, progress: Callable[[int], None]) -> Demo:
    """Make what is missing of the demonstration; a second time nothing is.

    Raises: Conflict when the account's name belongs to somebody of another tenant.
    """
    tenant = find_tenant(slug=TENANT) or create_tenant(slug=TENANT, name="Larkbasket (demo)", now=now)
    with tenant_session(tenant):
        corpus = find_corpus(tenant=tenant, slug=CORPUS)
    if corpus is None:
        corpus = create_corpus(tenant=tenant, now=now, slug=CORPUS, name="Customer feedback")
    if corpus.facets != FACETS:
        declare_facets(corpus=corpus, facets=FACETS)
    access = _let_in(tenant, now)
    with open_file(FILE) as stream:
        loaded = load(stream=stream, destination=Destination(tenant=TENANT, corpus=CORPUS), now=now, progress=progress)
    return Demo(access, loaded)


def _let_in(tenant: Tenant, now: datetime) -> Access:
    kept = _read(_place())
    password = kept.get("password") or secrets.token_urlsafe(12)
    _let_person_in(tenant, password, now)
    api_key = kept.get("api_key", "")
    if not _is_key_of(tenant, api_key, now):
        _, secret = create_api_key(
            tenant=tenant,
            name="demo",
            scopes=[Scope.ASK, Scope.DOCUMENTS_READ, Scope.DOCUMENTS_WRITE],
            now=now,
        )
        api_key = str(secret)
    access = Access(USERNAME, password, api_key)
    if asdict(access) != kept:
        _write(_place(), access)
    return access


def _let_person_in(tenant: Tenant, password: str, now: datetime) -> None:
    user = get_user_model().objects.filter(username=USERNAME).first()
    if user is None:
        add_member(tenant=tenant, username=USERNAME, password=password, role=Role.ANALYST, now=now)
        return
    if [other.slug for other in list_tenants_of_user(user=user)] not in ([TENANT], []):
        raise Conflict(
            f"The account {USERNAME} belongs to another tenant here: the demo is for an installation of its own,"
            " with WA_STATE_DIR set to an empty folder."
        )
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    add_member(tenant=tenant, username=USERNAME, password=None, role=Role.ANALYST, now=now)


def _is_key_of(tenant: Tenant, text: str, now: datetime) -> bool:
    try:
        get_caller_of_key(token=text, chosen=tenant.slug, address="", now=now)
    except (NotAuthenticated, NotFound):
        return False
    return True


def _place() -> Path:
    state: Path = settings.WISDOM.state_dir
    return state / "demo.json"


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _write(path: Path, access: Access) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(access), file)
    partial.replace(path)
