"""Load a file into a corpus, making the corpus when asked to; what is refused can be kept to be fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from django.db import transaction

from core.errors import InvalidInput, NotFound
from core.tenant_session import tenant_session
from feedback.models import Corpus
from feedback.selectors.corpora import find_corpus
from feedback.services.corpora import create_corpus
from feedback.services.ingest import MAX_LISTED_REJECTIONS, IngestResult, ingest_documents
from tenants.caller import operator
from tenants.selectors import find_tenant
from tenants.services import create_tenant

if TYPE_CHECKING:
    from feedback.domain.records import Rejection
    from feedback.importers.stream import ImportStream
    from tenants.models import Tenant

# Set on a corpus that a load has made, until that load has come to the end of its file: a load that was
# stopped half-way is completed by the same command, which must know the sources of the other half as well.
DECLARING = "declares_sources"


class KeepsRejected(Protocol):
    """Where the rows go that were refused."""

    def keep(self, rejection: Rejection, sent: object) -> None:
        """Keep one row: why it was refused, and what was sent, or None where it couldn't be read."""
        ...


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a file goes: `kind` None leaves an existing corpus's as it is; `embedder` is for a corpus that is made."""

    tenant: str
    corpus: str = "feedback"
    kind: str | None = None
    creates: bool = False
    embedder: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a file; `tenant` and `corpus` as they are now, or would be after a dry run."""

    tenant: Tenant
    corpus: Corpus
    result: IngestResult


def load(
    *,
    stream: ImportStream,
    destination: Destination,
    now: datetime,
    dry_run: bool = False,
    rejects: KeepsRejected | None = None,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Store a file's rows; the load that makes a corpus declares the sources that it finds.

    Raises: NotFound for a tenant or corpus that is missing and may not be made; InvalidInput for another kind
    than the corpus has.
    """
    with _undone() if dry_run and not _exists(destination) else nullcontext():
        tenant, corpus = _find_or_make(destination, now)
        loaded = _load(tenant, corpus, stream, now, dry_run=dry_run, rejects=rejects, progress=progress)
    if not dry_run:
        _stop_declaring(loaded.corpus)
    return loaded


@contextmanager
def _undone() -> Iterator[None]:
    """Take back what the block wrote: the tenant and the corpus that rows were tried on."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _exists(destination: Destination) -> bool:
    tenant = find_tenant(slug=destination.tenant)
    if tenant is None:
        return False
    with tenant_session(tenant):
        return find_corpus(tenant=tenant, slug=destination.corpus) is not None


def _find_or_make(destination: Destination, now: datetime) -> tuple[Tenant, Corpus]:
    tenant = find_tenant(slug=destination.tenant)
    if tenant is None:
        if not destination.creates:
            raise NotFound(
                f"There is no tenant {destination.tenant!r}: add --create to make it.",
                code="unknown_tenant",
                field="tenant",
            )
        tenant = create_tenant(slug=destination.tenant, name=destination.tenant, now=now)
    with tenant_session(tenant):
        corpus = find_corpus(tenant=tenant, slug=destination.corpus)
    if corpus is not None:
        if destination.kind is not None and destination.kind != corpus.kind:
            raise InvalidInput(
                f"The corpus {corpus.slug} is of the kind {corpus.kind}, not {destination.kind}: load into another corpus.",
                code="other_kind",
                field="kind",
            )
        if destination.embedder is not None and destination.embedder != corpus.options.get("embedder"):
            raise InvalidInput(
                f"The corpus {corpus.slug} is there already: change its embedder with"
                f" manage.py corpora --tenant {tenant.slug} --corpus {corpus.slug} --embedder {destination.embedder}",
                code="other_embedder",
                field="embedder",
            )
        return tenant, corpus
    if not destination.creates:
        raise NotFound(
            f"{tenant.slug} has no corpus {destination.corpus!r}: add --create to make it.",
            code="unknown_corpus",
            field="corpus",
        )
    corpus = create_corpus(
        tenant=tenant,
        now=now,
        slug=destination.corpus,
        kind=destination.kind or Corpus.Kind.FEEDBACK,
        embedder=destination.embedder,
    )
    _set_options(corpus, {**corpus.options, DECLARING: True})
    return tenant, corpus


def _stop_declaring(corpus: Corpus) -> None:
    if DECLARING in corpus.options:
        _set_options(corpus, {name: value for name, value in corpus.options.items() if name != DECLARING})


def _set_options(corpus: Corpus, options: dict[str, Any]) -> None:
    with tenant_session(corpus.tenant):
        Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(options=options)
    corpus.options = options


def _load(
    tenant: Tenant,
    corpus: Corpus,
    stream: ImportStream,
    now: datetime,
    *,
    dry_run: bool,
    rejects: KeepsRejected | None,
    progress: Callable[[int], None] | None,
) -> Loaded:
    read: dict[int, object] = {}
    listed: list[Rejection] = []

    def rows() -> Iterator[tuple[int, object]]:
        for number, sent in stream.rows():
            if rejects is not None:
                read[number] = sent
            yield number, sent

    def after_chunk(so_far: IngestResult) -> None:
        # Taken out chunk by chunk, since the result lists a limited number only.
        for rejection in so_far.rejections:
            if rejects is not None:
                rejects.keep(rejection, read.get(rejection.row))
        listed.extend(so_far.rejections[: MAX_LISTED_REJECTIONS - len(listed)])
        so_far.rejections.clear()
        read.clear()
        if progress is not None:
            progress(so_far.saved + so_far.updated + so_far.unchanged + so_far.rejected)

    result = ingest_documents(
        caller=operator(tenant),
        corpus=corpus,
        rows=rows(),
        now=now,
        declares_sources=bool(corpus.options.get(DECLARING)),
        dry_run=dry_run,
        day_first=stream.day_first,
        progress=after_chunk,
    )
    return Loaded(tenant, corpus, replace(result, rejections=listed))
