"""A process that is killed in the middle of a chunk leaves whole chunks, and a replay completes the delivery."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from core.configuration import PROJECT_ROOT
from core.tenant_session import tenant_session
from feedback.selectors.corpora import corpus_state
from feedback.services.index_check import check_index
from tests.factories import make_document
from tests.feedback.recount import differences
from tests.settings import TEST_DATABASE

pytestmark = pytest.mark.django_db(transaction=True)

CHUNK = 10
DELIVERY = [make_document(f"doc-{n:02d}", f"Kettle number {n} broke.") for n in range(25)]

# Kills itself when the named function is called for the second chunk.
SCRIPT = """
import os, signal, sys
import django
django.setup()
from django.utils.module_loading import import_string
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus
from feedback.services import ingest
from tenants.caller import operator
from tenants.selectors import get_tenant
from tests.factories import NOW, rows
from tests.feedback.test_a_killed_ingest_leaves_nothing_half_written import CHUNK, DELIVERY

module, name = sys.argv[1].rsplit(".", 1)
owner = sys.modules[module]
original = getattr(owner, name)
calls = 0

def until_the_second_chunk(*arguments, **named):
    global calls
    calls += 1
    result = original(*arguments, **named)
    if calls == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, name, until_the_second_chunk)
ingest.CHUNK = CHUNK
tenant = get_tenant(slug="acme")
with tenant_session(tenant):
    corpus = get_corpus(tenant=tenant, slug="feedback")
ingest.ingest_documents(caller=operator(tenant), corpus=corpus, rows=rows(*DELIVERY), now=NOW)
"""


@pytest.mark.parametrize(
    "moment",
    [
        "feedback.services.writing._write_keys",
        "feedback.services.writing._write_passages",
        "feedback.services.ingest.record_event",
    ],
)
def test_a_killed_ingest_leaves_nothing_half_written(corpus, ingest, search, test_database, moment):
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, moment],
        cwd=PROJECT_ROOT,
        env={**os.environ, TEST_DATABASE: test_database.name, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    with tenant_session(corpus.tenant):
        assert corpus_state(corpus=corpus).documents == CHUNK
    assert sorted(search("kettle", top_k=100)) == [f"doc-{n:02d}" for n in range(CHUNK)]
    assert differences(corpus) == []

    again = ingest(*DELIVERY)

    assert (again.saved, again.unchanged, again.indexed) == (15, 10, 15)
    assert len(search("kettle", top_k=100)) == 25
    assert differences(corpus) == []
    assert check_index(tenant=corpus.tenant) == []
