"""Runs: the audit trail of questions. Never a source of evidence."""

from __future__ import annotations

from typing import Any

from django.db import models

from core.tenant_scope import TenantModel

JsonObject = dict[str, Any]


class Run(TenantModel):
    """A question and what became of it. Partitioned by month of `created_at`."""

    class Status(models.TextChoices):
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"

    corpus_id = models.UUIDField()
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    actor = models.TextField()
    question = models.TextField()
    request: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    outcome = models.CharField(max_length=12, blank=True)
    answer: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)
    fingerprint: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)

    class Meta:
        indexes = [
            # The history of questions, newest first.
            models.Index(fields=["tenant", "corpus_id", "-created_at"], name="run_newest"),
        ]

    def __str__(self) -> str:
        return self.question[:80]


class RunStep(TenantModel):
    """A step of a run, written before it can fail."""

    class Outcome(models.TextChoices):
        STARTED = "started"
        OK = "ok"
        FAILED = "failed"
        TIMED_OUT = "timed_out"
        EXHAUSTED = "exhausted"

    run_id = models.UUIDField()
    position = models.SmallIntegerField()
    step = models.CharField(max_length=20)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.STARTED)
    started_at = models.DateTimeField()
    milliseconds = models.FloatField(null=True)
    detail: models.JSONField[JsonObject, JsonObject] = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "run_id", "position"], name="step_position_once")]

    def __str__(self) -> str:
        return f"{self.position} {self.step}: {self.outcome}"


class StoredQuery(TenantModel):
    """What a number counts, so that it can be counted again and its records listed. Its `query_id` is a hash of it."""

    corpus_id = models.UUIDField()
    query_id = models.CharField(max_length=40)
    specification: models.JSONField[JsonObject, JsonObject] = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "stored queries"
        constraints = [models.UniqueConstraint(fields=["tenant", "corpus_id", "query_id"], name="stored_query_once")]

    def __str__(self) -> str:
        return str(self.specification)


class ClaimReview(TenantModel):
    """A claim on which the checker and the entailment model disagreed, for a person to decide.

    What was cited is kept as spans; the words stay with their records and go with them. `words` is the span of a
    quote, whose `text` is blank.
    """

    class State(models.TextChoices):
        OPEN = "open"
        SUPPORTED = "supported"
        UNSUPPORTED = "unsupported"
        DISMISSED = "dismissed"

    corpus_id = models.UUIDField()
    run_id = models.UUIDField()
    claim = models.SmallIntegerField()
    created_at = models.DateTimeField()
    text = models.TextField(blank=True)
    words: models.JSONField[JsonObject | None, JsonObject | None] = models.JSONField(null=True)
    spans: models.JSONField[list[JsonObject], list[JsonObject]] = models.JSONField()
    checker: models.JSONField[JsonObject, JsonObject] = models.JSONField()
    model: models.JSONField[JsonObject, JsonObject] = models.JSONField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    decided_by = models.TextField(blank=True)
    decided_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "run_id", "claim"], name="review_of_claim_once")]
        indexes = [
            # The queue, newest first, and the decided ones.
            models.Index(fields=["tenant", "state", "-created_at"], name="review_queue"),
        ]

    def __str__(self) -> str:
        return f"claim {self.claim} of {self.run_id}: {self.state}"
