"""Make what tests are about. Each takes the tenant that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tenants.domain.access import Role, Scope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from feedback.models import Corpus
    from tenants.models import Tenant

# Every test's present moment, unless it says otherwise.
NOW = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)
PASSWORD = "correct horse battery staple"


def make_tenant(*, slug: str = "acme", now: datetime = NOW) -> Tenant:
    from tenants.services import create_tenant

    return create_tenant(slug=slug, name=slug.capitalize(), now=now)


def make_corpus(*, tenant: Tenant, slug: str = "feedback", now: datetime = NOW, **fields: Any) -> Corpus:
    from feedback.services.corpora import create_corpus

    return create_corpus(tenant=tenant, slug=slug, now=now, **fields)


def make_user(*, tenant: Tenant, role: Role = Role.ANALYST, username: str | None = None) -> User:
    """Make a person of the tenant, who signs in with PASSWORD."""
    from tenants.services import add_member

    return add_member(
        tenant=tenant, username=username or f"{role}-of-{tenant.slug}", password=PASSWORD, role=role, now=NOW
    )


def make_key(*, tenant: Tenant, scopes: Iterable[Scope] = Scope, name: str = "test", now: datetime = NOW) -> str:
    """Make an API key; return the secret, as its owner sends it."""
    from tenants.services import create_api_key

    # Doors read the clock themselves, and a fixed moment may lie years behind it.
    _, secret = create_api_key(
        tenant=tenant, name=name, scopes=scopes, now=now, expires_at=datetime.now(tz=UTC) + timedelta(days=1)
    )
    return str(secret)


def make_document(id: str, text: str = "The delivery came two weeks late.", **fields: Any) -> dict[str, Any]:
    """Return a document as a customer sends it: dated, in English, and with a source."""
    return {"id": id, "text": text, "occurred_at": "2026-03-10", "language": "en", "source": "survey", **fields}


def rows(*documents: object) -> list[tuple[int, object]]:
    """Number documents as a delivery does, from 1."""
    return list(enumerate(documents, start=1))


# A few weeks of a shop that sells kettles: enough for a count, a trend, a comparison and a refusal.
SMALL_CORPUS = (
    make_document("r-01", "The delivery came two weeks late and nobody told me why.", occurred_at="2026-01-12", themes=["delivery"], account="Harbour Cafe", source="support_ticket"),
    make_document("r-02", "My kettle broke after three days. The handle came off.", occurred_at="2026-01-15", themes=["quality"], author="ann", source="app_review"),
    make_document("r-03", "Support answered within an hour and sent a new lid.", occurred_at="2026-01-20", themes=["support"], account="Harbour Cafe", source="survey"),
    make_document("r-04", "The courier left the parcel in the rain. The box was soaked.", occurred_at="2026-02-02", themes=["delivery"], author="bob", source="complaint"),
    make_document("r-05", "I waited 14 days for a refund of 49.90 euros.", occurred_at="2026-02-05", themes=["refund"], account="Mill Lane Hotel", source="complaint"),
    make_document("r-06", "Order #A-10293 never arrived.", occurred_at="2026-02-09", themes=["delivery"], account="Mill Lane Hotel", source="support_ticket"),
    make_document("r-07", "The kettle boils quickly and is quiet. I would buy it again.", occurred_at="2026-02-17", themes=["quality"], author="cleo", source="app_review"),
    make_document("r-08", "The voucher SAVE20 was refused at the till.", occurred_at="2026-02-21", themes=["price"], author="dan", source="app_review"),
    make_document("r-09", "The delivery was late again, for the third time this year.", occurred_at="2026-03-03", themes=["delivery"], account="Harbour Cafe", source="support_ticket"),
    make_document("r-10", "The refund came after two days. Thank you.", occurred_at="2026-03-05", themes=["refund"], author="eve", source="survey"),
    make_document("r-11", "The price went up by 12 % and nobody said so.", occurred_at="2026-03-08", themes=["price"], account="Mill Lane Hotel", source="survey"),
    make_document("r-12", "Die Lieferung war verspätet, und niemand hat zurückgerufen.", occurred_at="2026-03-11", themes=["delivery"], language="de", author="fritz", source="survey"),
)  # fmt: skip
