"""Without triggers any other write would falsify the corpus's statistics in silence."""

from __future__ import annotations

import pytest

from tests.architecture.source_tree import python_files
from tests.architecture.write_guard import findings

IMPORT = "from feedback.models import Document, Passage as P\n"


def test_nothing_but_the_services_of_feedback_writes_the_corpus():
    found = [str(finding) for path, source in python_files() for finding in findings(path, source)]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "Document(title='x').save()",
        "Document.objects.for_tenant(tenant).create(title='x')",
        "Document.objects.for_tenant(tenant).filter(pk=1).update(title='x')",
        "P.objects.for_tenant(tenant).delete()",
        "P.objects.for_tenant(tenant).bulk_create(made)",
        "row = Document.objects.for_tenant(tenant).first()\nrow.save()",
        "for row in Document.objects.for_tenant(tenant):\n    row.delete()",
        "rows = Document.objects.for_tenant(tenant)\nold = rows.filter(pk=1)\nold.update(title='x')",
        "M = Document\nM.objects.for_tenant(tenant).update(title='x')",
        "cursor.execute('DELETE FROM feedback_passage WHERE tenant_id = %s')",
        "cursor.execute('update feedback_term set document_frequency = 0 WHERE tenant_id = %s')",
        "cursor.execute(f'INSERT INTO feedback_documentkey AS k ({columns}) VALUES (%s)')",
    ],
)
def test_a_write_elsewhere_is_found(source):
    found = findings("feedback/admin.py", IMPORT + source)

    assert found


@pytest.mark.parametrize(
    "source",
    [
        "Document.objects.for_tenant(tenant).filter(pk=1).first()",
        "cursor.execute('SELECT 1 FROM feedback_passage WHERE tenant_id = %s')",
        "job.save()",
    ],
)
def test_reading_is_free(source):
    found = findings("feedback/selectors/records.py", IMPORT + source)

    assert found == []


def test_the_services_may_write():
    found = findings("feedback/services/writing.py", IMPORT + "Document(title='x').save()")

    assert found == []
