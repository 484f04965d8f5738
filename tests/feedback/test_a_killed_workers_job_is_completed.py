"""A large batch is read to its end once, whatever becomes of the worker that reads it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django_q.models import OrmQ

from core.errors import NotFound
from core.queue import working_alone
from core.tenant_session import tenant_session
from feedback.models import IngestJob
from feedback.services import jobs
from feedback.services.jobs import get_job, job_json, run_job, submit_batch, take_up_jobs
from feedback.tasks import run_ingest_job
from tests.factories import NOW, make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(caller, corpus):
    documents = [make_document(f"d{number}", f"Late for the {number}. time.") for number in range(5)]
    documents[3]["text"] = ""
    return submit_batch(caller=caller, corpus=corpus, documents=documents, batch_id="june", now=NOW)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("feedback.services.ingest.CHUNK", 2)


def _stop_after(monkeypatch, chunks):
    """Have the reading end without a word after so many chunks have been stored, as a killed worker would."""
    ingest_documents = jobs.ingest_documents
    seen = []

    def ingest(**options):
        def progress(result):
            options["progress"](result)
            seen.append(result)
            if len(seen) == chunks:
                raise KeyboardInterrupt

        return ingest_documents(**{**options, "progress": progress})

    monkeypatch.setattr(jobs, "ingest_documents", ingest)


def test_a_job_is_read_and_its_texts_are_not_kept_twice(tenant, job):
    run_job(tenant=tenant, job_id=job.id, now=NOW)

    told = job_json(get_job(tenant=tenant, job_id=job.id))
    assert (told["status"], told["done"], told["total"], told["attempts"]) == ("done", 5, 5, 1)
    assert (told["result"]["saved"], told["result"]["rejected"]) == (4, 1)
    with tenant_session(tenant):
        assert IngestJob.objects.for_tenant(tenant).get().documents == []


def test_an_attempt_after_a_kill_completes_the_job_and_counts_everything_once(tenant, job, small_chunks, monkeypatch):
    with monkeypatch.context() as patch:
        _stop_after(patch, chunks=1)
        with pytest.raises(KeyboardInterrupt):
            run_job(tenant=tenant, job_id=job.id, now=NOW)
    halfway = job_json(get_job(tenant=tenant, job_id=job.id))

    run_job(tenant=tenant, job_id=job.id, now=NOW)

    told = job_json(get_job(tenant=tenant, job_id=job.id))
    assert (halfway["status"], halfway["done"]) == ("running", 2)
    assert (told["status"], told["attempts"]) == ("done", 2)
    counted = {name: told["result"][name] for name in ("saved", "updated", "unchanged", "rejected", "indexed")}
    assert counted == {"saved": 4, "updated": 0, "unchanged": 0, "rejected": 1, "indexed": 4}


def test_after_three_attempts_the_job_has_failed_and_says_so(tenant, job, monkeypatch):
    def break_down(**_):
        raise RuntimeError("password=secret")

    monkeypatch.setattr(jobs, "ingest_documents", break_down)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            run_job(tenant=tenant, job_id=job.id, now=NOW)

    run_job(tenant=tenant, job_id=job.id, now=NOW)

    told = job_json(get_job(tenant=tenant, job_id=job.id))
    assert (told["status"], told["attempts"]) == ("failed", 3)
    assert "again" in told["error"]
    assert "secret" not in told["error"]


def test_a_worker_killed_three_times_gives_the_job_up(tenant, job, small_chunks, monkeypatch):
    with monkeypatch.context() as patch:
        for _ in range(3):
            _stop_after(patch, chunks=1)
            with pytest.raises(KeyboardInterrupt):
                run_job(tenant=tenant, job_id=job.id, now=NOW)

    run_job(tenant=tenant, job_id=job.id, now=NOW)

    assert get_job(tenant=tenant, job_id=job.id).status == IngestJob.Status.FAILED


def test_a_finished_job_is_left_alone(tenant, job):
    run_job(tenant=tenant, job_id=job.id, now=NOW)

    run_job(tenant=tenant, job_id=job.id, now=NOW + timedelta(hours=1))

    told = get_job(tenant=tenant, job_id=job.id)
    assert told.attempts == 1
    assert NOW <= told.finished_at < NOW + timedelta(hours=1)


def test_a_job_that_another_worker_is_at_is_left_to_it(tenant, job, app_connection):
    key = [7205, job.id.int % (1 << 32) - (1 << 31)]
    app_connection.execute("SELECT pg_advisory_lock(%s, %s)", key)

    run_job(tenant=tenant, job_id=job.id, now=NOW)

    assert get_job(tenant=tenant, job_id=job.id).attempts == 0
    app_connection.execute("SELECT pg_advisory_unlock(%s, %s)", key)


def test_a_job_whose_worker_died_is_queued_again(tenant, job, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        taken_up = take_up_jobs(tenant=tenant, created_before=NOW + timedelta(minutes=1))

    assert taken_up == 1
    (queued,) = OrmQ.objects.all()
    assert queued.task["args"][0] == "feedback.tasks.run_ingest_job"


def test_a_job_that_was_just_sent_or_is_done_is_not_queued_again(tenant, job):
    assert take_up_jobs(tenant=tenant, created_before=NOW) == 0

    run_job(tenant=tenant, job_id=job.id, now=NOW)

    assert take_up_jobs(tenant=tenant, created_before=NOW + timedelta(minutes=1)) == 0


def test_a_task_runs_with_ids_alone(tenant, job):
    run_ingest_job(tenant.id, job.id)

    assert get_job(tenant=tenant, job_id=job.id).status == IngestJob.Status.DONE


def test_another_tenants_job_is_as_absent_as_none(other_tenant, job):
    with pytest.raises(NotFound):
        get_job(tenant=other_tenant, job_id=job.id)
    run_job(tenant=other_tenant, job_id=job.id, now=NOW)

    assert get_job(tenant=job.tenant, job_id=job.id).attempts == 0


def test_the_lock_is_free_again_when_the_work_raises(tenant, job):
    with pytest.raises(RuntimeError), working_alone(job.id):
        raise RuntimeError

    with working_alone(job.id) as is_ours:
        assert is_ours
