"""Ask the catalog of a plain PostgreSQL whether its schema could be distributed by tenant.

The rules are those that Citus states for distributed tables (docs.citusdata.com: "Determining the Distribution
Strategy", "Multi-tenant schema migration", and the list of limitations in "SQL support and workarounds").
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_TABLES = """
WITH tables AS (
  SELECT c.oid, c.relname::text AS name, c.relispartition AS is_partition, a.attnum, a.attnotnull,
         format_type(a.atttypid, a.atttypmod) AS type,
         a.attnum IS NOT NULL AND c.relname <> ALL (%(global)s) AS is_tenants
    FROM pg_class c
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
), tenants AS (SELECT * FROM tables WHERE is_tenants),
foreign_keys AS (
  SELECT k.*, s.name AS source, s.is_tenants AS source_is_tenants, s.attnum AS source_tenant,
         t.name AS target, t.is_tenants AS target_is_tenants, t.attnum AS target_tenant
    FROM pg_constraint k JOIN tables s ON s.oid = k.conrelid JOIN tables t ON t.oid = k.confrelid
   WHERE k.contype = 'f' AND k.conparentid = 0
)
"""

_RULES = {
    "a unique key holds the tenant": """
        SELECT t.name, i.indexrelid::regclass::text FROM tenants t JOIN pg_index i ON i.indrelid = t.oid
         WHERE (i.indisunique OR i.indisexclusion) AND NOT t.is_partition
           AND NOT t.attnum = ANY ((i.indkey::int2[])[0 : i.indnkeyatts - 1])""",
    "a table has a primary key": """
        SELECT t.name, '' FROM tenants t WHERE NOT t.is_partition
           AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid AND i.indisprimary)""",
    "an exclusion compares the tenant by equality": """
        SELECT t.name, k.conname::text FROM tenants t JOIN pg_constraint k ON k.conrelid = t.oid
         WHERE k.contype = 'x' AND NOT EXISTS (
           SELECT FROM unnest(k.conkey, k.conexclop) u(attribute, operator) JOIN pg_operator o ON o.oid = u.operator
            WHERE u.attribute = t.attnum AND o.oprname = '=')""",
    "the tenant is never null": "SELECT name, '' FROM tenants WHERE NOT attnotnull AND NOT is_partition",
    "the tenant has one type": """
        SELECT 'all', string_agg(DISTINCT type, ', ') FROM tenants HAVING count(DISTINCT type) > 1""",
    "a foreign key between tenants' tables pairs the tenants": """
        SELECT source, conname::text FROM foreign_keys WHERE source_is_tenants AND target_is_tenants
           AND NOT EXISTS (SELECT FROM unnest(conkey, confkey) u(a, b) WHERE u.a = source_tenant AND u.b = target_tenant)""",
    "a tenant's table refers to no global one but the root": """
        SELECT source, conname || ' to ' || target FROM foreign_keys
         WHERE source_is_tenants AND NOT target_is_tenants
           AND NOT (target = %(root)s AND conkey = ARRAY[source_tenant])""",
    "a global table refers to no tenant's one": """
        SELECT source, conname || ' to ' || target FROM foreign_keys
         WHERE NOT source_is_tenants AND source <> %(root)s AND (target_is_tenants OR target = %(root)s)""",
    "a foreign key cascades or restricts": """
        SELECT source, conname::text FROM foreign_keys WHERE source_is_tenants
           AND (confdeltype IN ('n', 'd') OR confupdtype IN ('n', 'd'))""",
    "a tenant's table has no trigger": """
        SELECT t.name, g.tgname::text FROM tenants t JOIN pg_trigger g ON g.tgrelid = t.oid
         WHERE NOT g.tgisinternal AND NOT t.is_partition""",
    "no row number comes from a small sequence": """
        SELECT t.name, a.attname::text FROM tenants t JOIN pg_attribute a ON a.attrelid = t.oid
         WHERE a.atttypid IN ('int4'::regtype, 'int2'::regtype) AND NOT t.is_partition
           AND (a.attidentity <> '' OR pg_get_serial_sequence(t.oid::regclass::text, a.attname) IS NOT NULL)""",
    "the root is unique by its id alone": """
        SELECT t.name, i.indexrelid::regclass::text FROM tables t JOIN pg_index i ON i.indrelid = t.oid
         WHERE t.name = %(root)s AND i.indisunique AND NOT EXISTS (
           SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attname = 'id' AND a.attnum = ANY (i.indkey::int2[]))""",
    "tables inherit by partitions only": """
        SELECT t.name, '' FROM tenants t JOIN pg_inherits h ON h.inhrelid = t.oid WHERE NOT t.is_partition""",
}


def lint(connection: Any, *, root: str, global_tables: Collection[str]) -> list[str]:
    """Return what the schema breaks, as "rule: table detail".

    `root` is the table of tenants itself; `global_tables` have a tenant_id and stay in one place all the same.
    """
    broken = []
    for rule, query in _RULES.items():
        parameters = {"root": root, "global": list(global_tables)}
        for table, detail in connection.execute(_TABLES + query, parameters).fetchall():
            broken.append(f"{rule}: {table} {detail}".rstrip())
    return broken
