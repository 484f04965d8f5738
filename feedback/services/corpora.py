"""Make corpora."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction

from core.errors import Conflict, InvalidInput
from core.tenant_session import tenant_session
from feedback.clients.embedders.registry import EMBEDDER_CHOICES
from feedback.clients.rerankers.registry import check_reranker
from feedback.domain.facets import FILINGS_FACETS, read_rule
from feedback.embedding import EMBEDDER_BEFORE, embedder_setting
from feedback.models import Corpus, CorpusStatistics
from tenants.domain.access import SLUG_PATTERN

if TYPE_CHECKING:
    from tenants.models import Tenant

SOURCES = ("support_ticket", "app_review", "survey", "complaint", "social", "call", "note", "filing")
DEFAULT_SOURCE = {"feedback": "survey", "notes": "note", "filings": "filing"}
# Term ids of a corpus are counted from here to at most this many corpora's worth below a billion.
_TERM_BASES = 900_000_000


def create_corpus(
    *,
    tenant: Tenant,
    now: datetime,
    slug: str = "feedback",
    name: str = "",
    kind: str = Corpus.Kind.FEEDBACK,
    language: str = "en",
    sources: Iterable[str] = SOURCES,
    embedder: str | None = None,
) -> Corpus:
    """Make an empty corpus with its declared sources; `embedder` None: the installation's, whatever it is.

    Raises: InvalidInput for a bad name, kind or embedder; Conflict when the tenant has it already.
    """
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput(
            f"{slug!r} can't be a corpus's name: use 1 to 63 lower-case letters, digits and hyphens.",
            code="bad_slug",
            field="corpus",
        )
    if kind not in Corpus.Kind.values:
        raise InvalidInput(f"{kind!r} is no kind of corpus: use one of {', '.join(Corpus.Kind.values)}.", field="kind")
    default_source = DEFAULT_SOURCE[kind]
    options = {"embedder": _checked_embedder(embedder)} if embedder else {}
    try:
        with tenant_session(tenant), transaction.atomic():
            corpus = Corpus(
                tenant=tenant,
                slug=slug,
                name=name or slug.replace("-", " ").capitalize(),
                kind=kind,
                language=language,
                sources=sorted({*sources, default_source}),
                default_source=default_source,
                options=options,
                facets=[rule.as_json() for rule in FILINGS_FACETS] if kind == Corpus.Kind.FILINGS else [],
                created_at=now,
            )
            corpus.save(force_insert=True)
            CorpusStatistics(
                tenant=tenant,
                corpus=corpus,
                k1=settings.WISDOM.bm25_k1,
                b=settings.WISDOM.bm25_b,
                term_base=zlib.crc32(corpus.id.bytes) % _TERM_BASES,
            ).save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(f"{tenant.slug} has a corpus {slug} already.", code="corpus_exists") from error
    return corpus


def declare_facets(*, corpus: Corpus, facets: list[dict[str, Any]]) -> None:
    """Say which metadata dimensions the corpus has: name, type, values, normaliser, place in the relax order.

    Records that are stored already keep what they were sent with.
    Raises: InvalidInput for a declaration that can't be meant, or a name that comes twice.
    """
    try:
        rules = [read_rule(facet) for facet in facets]
    except ValueError as fault:
        raise InvalidInput(f"{fault}.", code="bad_facet_declaration", field="facets") from None
    names = [rule.name for rule in rules]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Facet {twice!r} is declared twice.", code="bad_facet_declaration", field="facets")
    facets = [rule.as_json() for rule in rules]
    with tenant_session(corpus.tenant):
        Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(facets=facets)
    corpus.facets = facets


# What a corpus may be told to use beside the installation's settings; "default" takes its own choice back.
DEFAULT = "default"


def choose_models(*, corpus: Corpus, embedder: str | None = None, reranker: str | None = None) -> None:
    """Give a corpus an embedder or a reranker of its own; None leaves what it has.

    A new embedder's vectors are built beside the old one's, which serves until they are complete.
    Raises: InvalidInput for an unknown name.
    """
    if embedder not in (None, DEFAULT):
        embedder = _checked_embedder(str(embedder))
    if reranker not in (None, DEFAULT):
        check_reranker(str(reranker))
    with tenant_session(corpus.tenant):
        locked = Corpus.objects.for_tenant(corpus.tenant).select_for_update().get(pk=corpus.pk)
        options = dict(locked.options)
        if embedder is not None:
            used = embedder_setting(locked)
            _set_or_drop(options, "embedder", embedder)
            # Of two switches in a row the first one's vectors may lack as many: what was complete keeps serving.
            serving = options.setdefault(EMBEDDER_BEFORE, used)
            if serving == (options.get("embedder") or settings.WISDOM.embedder):
                del options[EMBEDDER_BEFORE]
        if reranker is not None:
            _set_or_drop(options, "reranker", reranker)
        Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(options=options)
    corpus.options = options


def set_option(*, corpus: Corpus, name: str, value: Any) -> None:
    """Set one of a corpus's options; None takes it away. Others that are set meanwhile stay."""
    with tenant_session(corpus.tenant):
        locked = Corpus.objects.for_tenant(corpus.tenant).select_for_update().get(pk=corpus.pk)
        options = {key: kept for key, kept in locked.options.items() if key != name}
        if value is not None:
            options[name] = value
        Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(options=options)
    corpus.options = options


def end_switch(*, corpus: Corpus) -> None:
    """Forget the embedder that a corpus had before: the vectors of the present one are complete."""
    if EMBEDDER_BEFORE not in corpus.options:
        return
    with tenant_session(corpus.tenant):
        locked = Corpus.objects.for_tenant(corpus.tenant).select_for_update().get(pk=corpus.pk)
        chosen = corpus.options.get("embedder")
        # Unless another was chosen in the meantime, whose vectors nobody has looked at.
        if locked.options.get("embedder") == chosen:
            options = {name: value for name, value in locked.options.items() if name != EMBEDDER_BEFORE}
            Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(options=options)
            corpus.options = options


def _checked_embedder(setting: str) -> str:
    """Return a choice of embedders. Raises: InvalidInput for any other."""
    if setting not in EMBEDDER_CHOICES:
        raise InvalidInput(
            f"{setting!r} is no choice of embedders: use one of {', '.join(EMBEDDER_CHOICES)}.",
            field="embedder",
            detail={"embedders": list(EMBEDDER_CHOICES)},
        )
    return setting


def _set_or_drop(options: dict[str, Any], name: str, value: str) -> None:
    if value == DEFAULT:
        options.pop(name, None)
    else:
        options[name] = value
