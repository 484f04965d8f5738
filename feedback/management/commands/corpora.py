"""Show a tenant's corpora, and choose the models that one of them uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.clients.embedders.registry import EMBEDDER_CHOICES
from feedback.clients.rerankers.registry import OFF, RERANKERS
from feedback.embedding import embedder_setting
from feedback.selectors.corpora import corpus_state, get_corpus, list_corpora
from feedback.selectors.retrieval import reranker_of, serving_embedder
from feedback.services.corpora import DEFAULT, choose_models
from feedback.services.jobs import embed_in_background
from tenants.selectors import get_tenant

if TYPE_CHECKING:
    from feedback.models import Corpus


class Command(WisdomCommand):
    help = "List a tenant's corpora with their models, or give one of them an embedder or a reranker of its own."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--corpus", type=readable_text, help="which corpus; all of them if not given")
        parser.add_argument(
            "--embedder",
            choices=[*EMBEDDER_CHOICES, DEFAULT],
            help="what makes its vectors; the old ones serve until the new ones are complete",
        )
        parser.add_argument(
            "--reranker", choices=[OFF, *RERANKERS, DEFAULT], help="what reads the best candidates again"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = get_tenant(slug=options["tenant"])
        changes = options["embedder"] is not None or options["reranker"] is not None
        if changes and options["corpus"] is None:
            raise InvalidInput("Say which corpus is to change: add --corpus NAME.", field="corpus")
        with tenant_session(tenant):
            corpora = (
                [get_corpus(tenant=tenant, slug=options["corpus"])]
                if options["corpus"]
                else list_corpora(tenant=tenant)
            )
        if changes:
            choose_models(corpus=corpora[0], embedder=options["embedder"], reranker=options["reranker"])
            embed_in_background(corpus=corpora[0])
        with tenant_session(tenant):
            rows = [_row(corpus) for corpus in corpora]
        if self.as_json:
            self.document({"corpora": rows})
            return
        for row in rows:
            behind = f"; the chosen one lacks {row['lag']:,}" if row["lag"] else ""
            self.say(
                f"{row['corpus']} ({row['kind']}): {row['documents']:,} documents in {', '.join(row['languages']) or '-'};"
                f" embedder {row['embedder']}, searched by {row['serving']}{behind}; reranker {row['reranker']}"
            )


def _row(corpus: Corpus) -> dict[str, Any]:
    state = corpus_state(corpus=corpus)
    serving, lag = serving_embedder(corpus, state)
    return {
        "corpus": corpus.slug,
        "kind": corpus.kind,
        "documents": state.documents,
        "languages": list(corpus.languages),
        "embedder": embedder_setting(corpus),
        "serving": serving,
        "lag": lag,
        "reranker": reranker_of(corpus),
    }
