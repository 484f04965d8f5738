"""Compute the vectors that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.clock import utc_now
from core.commands import WisdomCommand, readable_text
from core.tenant_scope import across_tenants
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus, list_corpora
from feedback.services.segments import IndexResult, index_vectors
from feedback.services.vectors import EmbedResult, embed_missing
from tenants.selectors import get_tenant

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant


class Command(WisdomCommand):
    help = "Compute the vectors that passages lack, and build the graphs that search many of them."
    tenant_default = None
    after_interrupt = "Stopped: the vectors so far are stored, and the same command computes the rest."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--corpus", type=readable_text, help="which corpus; all of them if not given")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["tenant"] is None:
            tenants = list(across_tenants(reason="the operator asked for the vectors of all tenants"))
        else:
            tenants = [get_tenant(slug=options["tenant"])]
        total = EmbedResult(0, 0, 0.0)
        graphs = IndexResult(0, 0, 0.0)
        for tenant in tenants:
            with tenant_session(tenant):
                corpora = (
                    [get_corpus(tenant=tenant, slug=options["corpus"])]
                    if options["corpus"]
                    else list_corpora(tenant=tenant)
                )
            for corpus in corpora:
                done = self._embed(tenant, corpus)
                total = EmbedResult(
                    total.embedded + done.embedded, total.lag + done.lag, round(total.seconds + done.seconds, 3)
                )
                built = index_vectors(corpus=corpus, now=utc_now())
                graphs = IndexResult(
                    graphs.indexed + built.indexed,
                    graphs.waiting + built.waiting,
                    round(graphs.seconds + built.seconds, 3),
                )
        if self.as_json:
            self.document(
                {
                    "embedded": total.embedded,
                    "lag": total.lag,
                    "seconds": total.seconds,
                    "indexed": graphs.indexed,
                    "index_seconds": graphs.seconds,
                }
            )
        else:
            self.say(f"{total.embedded:,} vectors stored in {total.seconds:,.1f} s; {total.lag:,} are missing.")
            if graphs.indexed:
                self.say(f"{graphs.indexed:,} vectors put into graphs in {graphs.seconds:,.1f} s.")

    def _embed(self, tenant: Tenant, corpus: Corpus) -> EmbedResult:
        progress = self.progress(f"vectors for {tenant.slug}/{corpus.slug}")
        try:
            return embed_missing(tenant=tenant, corpus=corpus, progress=progress.update)
        finally:
            progress.finish()
