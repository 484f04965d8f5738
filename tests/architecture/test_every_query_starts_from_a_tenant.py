"""No query of ours can be written without saying for whom; the ways around the guard are tried out."""

from __future__ import annotations

import pytest
from django.apps import apps

from tests.architecture.source_tree import python_files, tenant_models, tenant_tables
from tests.architecture.tenant_guard import Schema, findings

EXEMPT = {
    "core/tenant_scope.py": "makes the rule: it reaches under the managers that it gives to everybody else",
    "core/partitions.py": "counts and drops whole partitions, as their owner",
}

SCHEMA = Schema(
    tenant_tables=frozenset({"feedback_document", "feedback_passage"}),
    reverse_accessors=frozenset({"documentkey_set"}),
    global_models=frozenset({("tenants.models", "Tenant")}),
)


def _schema_of_the_models() -> Schema:
    ours = tenant_models()
    return Schema(
        tenant_tables=frozenset(tenant_tables()),
        reverse_accessors=frozenset(
            str(relation.get_accessor_name())
            for model in apps.get_models()
            for relation in model._meta.related_objects
            if relation.related_model in ours and not relation.hidden
        ),
        global_models=frozenset((model.__module__, model.__name__) for model in apps.get_models() if model not in ours),
    )


def test_no_file_of_ours_queries_without_a_tenant():
    schema = _schema_of_the_models()

    found = [
        str(finding)
        for path, source in python_files()
        if path not in EXEMPT
        for finding in findings(path, source, schema)
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "Document.objects.all()",
        "Document.objects.filter(tenant=tenant)",
        "Document.objects.exists()",
        "Document.objects.for_tenant",
        "Document._base_manager.all()",
        "Document._default_manager.get(pk=1)",
        "rows = Document.objects\nrows.all()",
        "M = Document\nM.objects.all()",
        "from feedback.models import Document as Tenant\nTenant.objects.all()",
        "from tenants.models import Tenant\nTenant = Document\nTenant.objects.all()",
        "from tenants.models import Tenant\ndef f(Tenant):\n    Tenant.objects.all()",
        "type(row).objects.all()",
        "apps.get_model('feedback', 'Document').objects.all()",
        "getattr(Document, 'objects').all()",
        "operator.attrgetter('objects')(Document).all()",
        "models.feedback.Document.objects.all()",
        "corpus.documentkey_set.all()",
        "get_object_or_404(Document, pk=1)",
        "shortcuts.get_object_or_404(Document, pk=1)",
        "from django.shortcuts import get_object_or_404 as fetch\nfetch(Document, pk=1)",
        "get_list_or_404(Document.objects.for_tenant)",
        "Document.objects.for_tenant(tenant).raw('SELECT 1')",
        "Document.objects.for_tenant(tenant).extra(where=['true'])",
        "Document.objects.for_tenant(tenant).annotate(n=RawSQL('1', []))",
        "cursor.execute('SELECT text FROM feedback_document')",
        "cursor.execute('SELECT text FROM feedback_document WHERE id = %s', [1])",
        "cursor.execute('SELECT text FROM feedback_document WHERE tenant_id IS NOT NULL')",
        "cursor.execute(\"SELECT text FROM feedback_document WHERE tenant_id = current_setting('app.tenant_id')\")",
        "cursor.execute('SELECT 1 FROM feedback_document d JOIN feedback_passage p ON p.id = d.id WHERE d.tenant_id = %s')",
        "cursor.execute('SELECT 1 FROM feedback_document d, feedback_passage p WHERE d.tenant_id = %s')",
        "cursor.execute('DELETE FROM feedback_document WHERE id = %s')",
        "cursor.execute('UPDATE feedback_document SET title = %s')",
        "cursor.execute('INSERT INTO feedback_document (id) VALUES (%s)')",
        "cursor.execute(f'SELECT text FROM {table}')",
        "cursor.execute(f'SELECT text FROM \"{table}\" WHERE tenant_id = %s')",
        "cursor.execute('SELECT text FROM ' + table)",
        "cursor.execute('SELECT text FROM %s' % table)",
        "cursor.execute('SELECT text FROM {}'.format(table))",
        "cursor.execute('SELECT text ' 'FROM feedback_document')",
        "STATEMENT = 'select text from feedback_document'\ncursor.execute(STATEMENT)",
        "TABLE = 'feedback_document'\ncursor.execute(f'SELECT text FROM {TABLE}')",
        "for TABLE in TABLES:\n    cursor.execute(f'SELECT text FROM {TABLE}')",
        "across_tenants()",
        "across_tenants(reason='  ')",
    ],
)
def test_a_way_around_is_found(source):
    found = findings("somewhere.py", source, SCHEMA)

    assert found


@pytest.mark.parametrize(
    "source",
    [
        "Document.objects.for_tenant(tenant).filter(pk=1)",
        "(\n    Document.objects.for_tenant(tenant)\n    .first()\n)",
        "get_object_or_404(Document.objects.for_tenant(tenant), pk=1)",
        "from tenants.models import Tenant\nTenant.objects.filter(slug='x')",
        "from tenants.models import Tenant as T\nT.objects.filter(slug='x')",
        "get_user_model().objects.filter(username='x')",
        "apps.get_model('tenants', 'Tenant').objects.all()",
        "cursor.execute('SELECT text FROM feedback_document WHERE tenant_id = %s')",
        "cursor.execute('UPDATE feedback_document SET title = %(title)s WHERE tenant_id = %(tenant)s')",
        "cursor.execute('INSERT INTO feedback_document (id, tenant_id) VALUES (%s, %s)')",
        "cursor.execute('SELECT * FROM feedback_search(%s)')",
        "TABLE = 'feedback_document'\ncursor.execute(f'SELECT text FROM {TABLE} WHERE tenant_id = %s')",
        "'''Select documents from feedback_document.'''",
        "across_tenants(reason='the sweep of an installation')",
    ],
)
def test_an_honest_query_passes(source):
    found = findings("somewhere.py", source, SCHEMA)

    assert found == []
