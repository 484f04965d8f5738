"""The corpus: documents, their revisions, the passages that are searched, and the statistics of their words.

Only `feedback/services` writes documents, passages, vectors and terms: without triggers any other write
would falsify the statistics in silence. `manage.py check_index` recounts them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField, SparseVectorField

from core.tenant_scope import TenantForeignKey, TenantModel

# pgvector's greatest number of dimensions of a sparsevec; a term id is a dimension.
TERM_DIMENSIONS = 1_000_000_000
JsonObject = dict[str, Any]


def _texts() -> Any:
    return ArrayField(models.TextField(), default=list, blank=True)


class Corpus(TenantModel):
    """A body of records with one vocabulary. A tenant may have many; `feedback` is the default."""

    class Kind(models.TextChoices):
        FEEDBACK = "feedback"
        NOTES = "notes"
        FILINGS = "filings"

    slug = models.SlugField(max_length=63, db_index=False)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.FEEDBACK)
    language = models.CharField(max_length=8, default="en")
    sources = _texts()
    default_source = models.CharField(max_length=60)
    facets: models.JSONField[list[JsonObject], list[JsonObject]] = models.JSONField(default=list, blank=True)
    thresholds: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict, blank=True)
    options: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict, blank=True)
    # What the records hold: the vocabulary that a filter is checked against.
    themes = _texts()
    languages = _texts()
    facet_names = _texts()
    # The first 2,000 of them, so that a question can name one.
    accounts = _texts()
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "corpora"
        constraints = [models.UniqueConstraint(fields=["tenant", "slug"], name="corpus_slug_once")]

    def __str__(self) -> str:
        return self.slug


class CorpusStatistics(TenantModel):
    """What BM25 needs to know of a corpus, exact at every commit; its row is the writers' lock.

    `average_length` is pinned: it is baked into the weights of the passages and follows the true mean
    when that has drifted by 5 %. Term ids are counted from `term_base`, which differs by corpus so that
    the index entries of two corpora seldom meet.
    """

    corpus = TenantForeignKey(Corpus)
    documents = models.IntegerField(default=0)
    passages = models.IntegerField(default=0)
    total_length = models.BigIntegerField(default=0)
    average_length = models.FloatField(default=0.0)
    k1 = models.FloatField()
    b = models.FloatField()
    term_base = models.IntegerField()
    terms = models.IntegerField(default=0)
    newest_at = models.DateTimeField(null=True)
    # Passages that have a vector, by the name that the embedder's vectors are filed under.
    vectors: models.JSONField[dict[str, int], dict[str, int]] = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "corpus"], name="statistics_of_corpus_once")]

    def __str__(self) -> str:
        return f"statistics of {self.corpus_id}"


class DocumentKey(TenantModel):
    """Who a document is: the only uniqueness that spans partitions. Its id is the document's id."""

    corpus = TenantForeignKey(Corpus)
    external_id = models.TextField()
    occurred_at = models.DateTimeField()
    revision = models.IntegerField(default=1)
    sent_hash = models.BinaryField()
    text_hash = models.BinaryField()
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "corpus", "external_id"], name="document_id_once")]

    def __str__(self) -> str:
        return self.external_id


class Document(TenantModel):
    """The current record. Partitioned by month of `occurred_at`; its texts are its revisions."""

    corpus_id = models.UUIDField()
    external_id = models.TextField()
    revision = models.IntegerField()
    title = models.TextField(blank=True)
    source = models.TextField()
    themes = _texts()
    account = models.TextField(null=True)  # noqa: DJ001  # no account and a blank one are not the same
    author = models.TextField(null=True)  # noqa: DJ001  # likewise
    language = models.TextField()
    url = models.TextField(blank=True)
    facets: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    record_kind = models.TextField(blank=True)
    content_kind = models.TextField(blank=True)
    origin = models.TextField(blank=True)
    attribution = models.TextField(null=True)  # noqa: DJ001  # absent: the answer makes its own label
    occurred_at = models.DateTimeField()
    has_date = models.BooleanField(default=True)
    received_at = models.DateTimeField()
    batch_id = models.TextField(blank=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Lists: newest first within a corpus.
            models.Index(fields=["tenant", "corpus_id", "-occurred_at"], name="document_newest"),
            # A delivery, to undo it.
            models.Index(fields=["tenant", "batch_id"], name="document_batch"),
        ]

    def __str__(self) -> str:
        return self.external_id


class DocumentRevision(TenantModel):
    """A text exactly as it was sent, for ever: what a citation points to."""

    document = TenantForeignKey(DocumentKey)
    number = models.IntegerField()
    title = models.TextField(blank=True)
    text = models.TextField()
    text_hash = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "document", "number"], name="revision_number_once")]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.document_id}"


class Passage(TenantModel):
    """The unit of lexical search: a span of the current revision, with its words and what filters ask for.

    A short record is one passage. `terms` ascend; `frequencies` go with them; `weights` is the BM25 weight
    of each term, so that a score is one inner product with the query's idf vector.
    """

    corpus_id = models.UUIDField()
    document_id = models.UUIDField()
    external_id = models.TextField()
    revision = models.IntegerField()
    ordinal = models.IntegerField()
    start = models.IntegerField()
    end = models.IntegerField()
    source = models.TextField()
    themes = _texts()
    account = models.TextField(null=True)  # noqa: DJ001  # no account and a blank one are not the same
    # Whose voice it is, for counts of people: the account, else the author.
    person = models.TextField(null=True)  # noqa: DJ001  # nobody is named
    language = models.TextField()
    facets: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    occurred_at = models.DateTimeField()
    # Without a date of its own a record stands at its receipt: found there, and left out of counts over time.
    has_date = models.BooleanField(default=True)
    terms = ArrayField(models.IntegerField())
    frequencies = ArrayField(models.SmallIntegerField())
    length = models.IntegerField()
    weights = SparseVectorField(dimensions=TERM_DIMENSIONS)
    index_hash = models.BinaryField()

    class Meta:
        indexes = [
            # The passages of one record: edits, deletes, citations.
            models.Index(fields=["tenant", "document_id"], name="passage_of_document"),
            # Counts and windows over a corpus.
            models.Index(fields=["tenant", "corpus_id", "occurred_at"], name="passage_window"),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}[{self.start}:{self.end}]"


class PassageVector(TenantModel):
    """A passage's vector by one embedder, with the columns that filters ask for. Partitioned by tenant shard."""

    shard = models.SmallIntegerField()
    corpus_id = models.UUIDField()
    passage_id = models.UUIDField()
    document_id = models.UUIDField()
    external_id = models.TextField()
    embedder = models.TextField()
    source = models.TextField()
    themes = _texts()
    account = models.TextField(null=True)  # noqa: DJ001  # no account and a blank one are not the same
    language = models.TextField()
    facets: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    occurred_at = models.DateTimeField()
    index_hash = models.BinaryField()
    # No fixed dimension: embedders differ, and each builds its index beside the others'.
    vector = HalfVectorField()

    class Meta:
        indexes = [
            # The exact scan of a corpus, and the count of vectors for the lag.
            models.Index(fields=["tenant", "corpus_id", "embedder"], name="vector_scan"),
            # "Has this text a vector already?"
            models.Index(fields=["tenant", "embedder", "index_hash"], name="vector_of_text"),
            # The vectors of one record: edits and deletes.
            models.Index(fields=["tenant", "document_id"], name="vector_of_document"),
        ]

    def __str__(self) -> str:
        return f"{self.embedder} vector of {self.external_id}"


class Term(TenantModel):
    """A lexeme of a corpus, the number of its passages that hold it, and the most that it weighs in one of them.

    `max_weight` may be too large, after the passage that it came from has gone, and never too small.
    """

    corpus = TenantForeignKey(Corpus)
    lexeme = models.TextField()
    term_id = models.IntegerField()
    document_frequency = models.IntegerField(default=0)
    max_weight = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "corpus", "lexeme"], name="term_lexeme_once"),
            models.UniqueConstraint(fields=["tenant", "corpus", "term_id"], name="term_number_once"),
        ]

    def __str__(self) -> str:
        return self.lexeme


class IngestJob(TenantModel):
    """A large batch that is read in the background: what was sent, how far it is, what came of it."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    corpus = TenantForeignKey(Corpus)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    batch_id = models.TextField(blank=True)
    actor = models.TextField()
    documents: models.JSONField[list[Any], list[Any]] = models.JSONField(default=list)
    total = models.IntegerField()
    done = models.IntegerField(default=0)
    attempts = models.IntegerField(default=0)
    result: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # The jobs of a tenant, newest first.
            models.Index(fields=["tenant", "-created_at"], name="ingestjob_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.done}/{self.total}"
