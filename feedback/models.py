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
    # The number of the vector that was stored last; it never goes down.
    last_vector = models.BigIntegerField(default=0)
    # Every writer counts it up: what was counted at one value holds while it stays.
    changes = models.BigIntegerField(default=0)

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
    # In the order of storing: says which segments hold it, or that none does yet.
    number = models.BigIntegerField()
    # No fixed dimension: embedders differ, and each has segments of its own.
    vector = HalfVectorField()

    class Meta:
        # Besides, an index of what equality filters ask for: `vector_filter_keys`, of migration 0004.
        indexes = [
            # The exact scan of a corpus, or of those that no segment holds.
            models.Index(fields=["tenant", "corpus_id", "embedder", "number"], name="vector_number"),
            # The exact scan of a period.
            models.Index(fields=["tenant", "corpus_id", "occurred_at"], name="vector_window"),
            # "Has this text a vector already?"
            models.Index(fields=["tenant", "embedder", "index_hash"], name="vector_of_text"),
            # The vectors of one record: edits and deletes.
            models.Index(fields=["tenant", "document_id"], name="vector_of_document"),
        ]

    def __str__(self) -> str:
        return f"{self.embedder} vector of {self.external_id}"


class VectorSegment(TenantModel):
    """An HNSW graph over those of a corpus's vectors by one embedder that have a number in (above, upto].

    Searches use the segments that serve; these never overlap, and vectors above them all are scanned.
    """

    corpus = TenantForeignKey(Corpus)
    embedder = models.TextField()
    dimensions = models.IntegerField()
    above = models.BigIntegerField()
    upto = models.BigIntegerField()
    rows = models.IntegerField(default=0)
    is_serving = models.BooleanField(default=False)
    # When another took its place; searches that began before may still be reading it.
    retired_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Every search of a large corpus by meaning.
            models.Index(fields=["tenant", "corpus", "embedder"], name="segment_of_corpus"),
        ]

    def __str__(self) -> str:
        return f"{self.embedder} vectors {self.above + 1} to {self.upto}"


class SegmentVector(TenantModel):
    """A vector as a node of its segment's graph; its id is that of the `PassageVector`. A partition a segment."""

    segment_id = models.UUIDField()
    vector = HalfVectorField()

    def __str__(self) -> str:
        return f"node of segment {self.segment_id}"


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


class DistinctText(TenantModel):
    """What records say, once for all that say it in the same words; its id is a hash of the words and the corpus.

    A text follows a leader that it is similar to, or is one itself; who follows whom is kept in the background.
    `position` is the id of the first current revision that says it: the order in which texts are judged.
    """

    corpus = TenantForeignKey(Corpus)
    position = models.UUIDField()
    leader_id = models.UUIDField()
    # 64-bit hashes, ascending, and the keys of what may be similar; none for a text that only its equals are like.
    shingles = ArrayField(models.BigIntegerField())
    bands = ArrayField(models.IntegerField())
    # Its first record has gone.
    is_due = models.BooleanField(default=False)

    class Meta:
        indexes = [
            # Whether a text stands behind all others.
            models.Index(fields=["tenant", "corpus", "-position"], name="distincttext_last"),
            # Who followed a leader that has gone.
            models.Index(
                fields=["tenant", "leader_id"],
                name="distincttext_followers",
                condition=~models.Q(leader_id=models.F("id")),
            ),
            # What has to be looked at again.
            models.Index(fields=["tenant", "corpus"], name="distincttext_due", condition=models.Q(is_due=True)),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ClusterMember(TenantModel):
    """Which cluster a live record belongs to; its id is the document's id.

    Without a text it waits to be clustered, and counts as a cluster of its own. `cluster_id` is the leader of its
    text, or the record itself where people set it apart.
    """

    corpus = TenantForeignKey(Corpus)
    text_id = models.UUIDField(null=True)
    position = models.UUIDField(null=True)
    cluster_id = models.UUIDField(null=True)

    class Meta:
        indexes = [
            # The records of a cluster.
            models.Index(
                fields=["tenant", "corpus", "cluster_id"],
                name="clustermember_cluster",
                condition=models.Q(cluster_id__isnull=False),
            ),
            # The records that say a text.
            models.Index(
                fields=["tenant", "text_id"],
                name="clustermember_text",
                condition=models.Q(text_id__isnull=False),
            ),
            # What waits: the one of these that an ingest writes to.
            models.Index(
                fields=["tenant", "corpus", "id"],
                name="clustermember_waiting",
                condition=models.Q(text_id__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ClusterDecision(TenantModel):
    """What people decided of a record; its id is the document's id. It outlives edits, deletion and re-clustering.

    Records with one `merge_id` are the same, and so are the clusters that they belong to. A record that is apart
    belongs to no cluster but those that it is merged with.
    """

    corpus = TenantForeignKey(Corpus)
    merge_id = models.UUIDField(null=True)
    is_apart = models.BooleanField(default=False)
    made_by = models.TextField()
    made_at = models.DateTimeField()

    class Meta:
        indexes = [
            # All decisions of a corpus, and those of one merge.
            models.Index(fields=["tenant", "corpus", "merge_id"], name="clusterdecision_merge"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class MergedCluster(TenantModel):
    """A cluster that people merged with others, under its own id, and the id that they have together.

    Derived from the decisions; a cluster that isn't here stands by itself.
    """

    corpus = TenantForeignKey(Corpus)
    merged_id = models.UUIDField()

    class Meta:
        indexes = [
            # The clusters that were merged into one.
            models.Index(fields=["tenant", "corpus", "merged_id"], name="mergedcluster_parts"),
        ]

    def __str__(self) -> str:
        return f"{self.id} in {self.merged_id}"


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
