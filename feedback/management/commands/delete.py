"""Take a document out of search."""

from __future__ import annotations

from typing import Any

from core.clock import utc_now
from core.commands import WisdomCommand, readable_text
from core.errors import NotFound
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus
from feedback.services.deletion import RESTORABLE, delete_document
from tenants.caller import operator
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = "Take a document out of search at once; it can be restored for 30 days."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--doc", required=True, metavar="ID", type=readable_text, help="the document's id")
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            corpus = get_corpus(tenant=tenant, slug=options["corpus"])
        try:
            delete_document(caller=operator(tenant), corpus=corpus, external_id=options["doc"], now=utc_now())
        except NotFound:
            raise NotFound(
                f"{tenant.slug}/{corpus.slug} has no document {options['doc']!r}, or it is deleted already.",
                code="unknown_document",
                field="doc",
            ) from None
        if self.as_json:
            self.document({"deleted": 1})
        else:
            self.say(f"{options['doc']} is out of search, and can be restored for {RESTORABLE.days} days.")
