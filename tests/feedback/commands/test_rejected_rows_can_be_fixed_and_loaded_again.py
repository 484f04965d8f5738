"""`--rejects` writes the refused rows in the form of their file: fixed, they load."""

from __future__ import annotations

import csv
import json

import pytest

from core.tenant_session import tenant_session
from feedback.models import DocumentKey
from tests.factories import make_document

pytestmark = pytest.mark.django_db


def test_lines_are_kept_as_they_stand(manage, ndjson, corpus, tmp_path):
    blank, broken = json.dumps(make_document("b", "")), '{"id": "c", "text": "No end'
    path = ndjson(make_document("a"), blank, broken, make_document("d"))
    rejects = tmp_path / "rejects.ndjson"

    manage("ingest", path, "--tenant", "acme", "--rejects", rejects)

    assert rejects.read_text().splitlines() == [blank, broken]


def test_fixed_lines_load(manage, ndjson, corpus, tmp_path):
    rejects = tmp_path / "rejects.ndjson"
    manage("ingest", ndjson(make_document("a"), make_document("b", "")), "--tenant", "acme", "--rejects", rejects)
    rejects.write_text(rejects.read_text().replace('"text": ""', '"text": "Found it."'))

    done = manage("ingest", rejects, "--tenant", "acme", "--json")

    assert (done.document["saved"], done.document["rejected"]) == (1, 0)


def test_a_table_keeps_its_header_and_columns(manage, corpus, tmp_path):
    path, rejects = tmp_path / "table.csv", tmp_path / "rejects.csv"
    path.write_text(
        "Nr;Datum;Comment;Store;Topics\n1;03.04.2026;Late, again;Leeds;a\n2;03.04.2026;;York;a; \n3;never;Cold;Bath;a\n"
        "4;03.04.2026;Warm;Hull;a\n"
    )
    mapping = ["--map", "Nr=id", "--map", "Datum=occurred_at"]

    manage("ingest", path, "--tenant", "acme", "--rejects", rejects, *mapping)

    with rejects.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    assert header == ["Nr", "Datum", "Comment", "Store", "Topics"]
    assert ["3", "never", "Cold", "Bath", "a"] in rows
    assert {row[0] for row in rows} == {"2", "3"}


def test_a_row_with_too_many_cells_keeps_them_all(manage, corpus, tmp_path):
    path, rejects = tmp_path / "table.csv", tmp_path / "rejects.csv"
    path.write_text("id,text,store\n1,fine,Leeds\n2,one, two and three,York,extra\n3,good,Bath\n4,well,Hull\n")

    done = manage("ingest", path, "--tenant", "acme", "--rejects", rejects, "--json")

    assert [each["row"] for each in done.document["rejections"]] == [3]
    assert "2,one, two and three,York,extra" in rejects.read_text()


def test_rows_of_a_json_document_become_lines(manage, corpus, tmp_path):
    path, rejects = tmp_path / "rows.json", tmp_path / "rejects.ndjson"
    path.write_text(json.dumps([make_document("a"), make_document("b", "", store="Köln")]))

    manage("ingest", path, "--tenant", "acme", "--rejects", rejects)

    (line,) = rejects.read_text().splitlines()
    assert json.loads(line) == make_document("b", "", store="Köln")


def test_lines_of_standard_input_are_kept_too(manage, corpus, tmp_path):
    rejects = tmp_path / "rejects.ndjson"

    done = manage(
        "ingest", "-", "--tenant", "acme", "--rejects", rejects, "--json", stdin='{"id": "a", "text": "x"}\n{"id"\n'
    )

    assert done.document["saved"] == 1
    assert rejects.read_text() == '{"id"\n'


def test_more_rejections_than_are_listed_are_all_kept(manage, ndjson, corpus, tmp_path):
    rejects = tmp_path / "rejects.ndjson"
    path = ndjson(*(make_document(f"r{number}", "") for number in range(1_500)), make_document("good"))

    done = manage("ingest", path, "--tenant", "acme", "--rejects", rejects, "--json")

    assert (done.document["rejected"], len(done.document["rejections"])) == (1_500, 1_000)
    assert len(rejects.read_text().splitlines()) == 1_500


def test_without_a_rejection_the_file_is_empty(manage, ndjson, corpus, tmp_path):
    rejects = tmp_path / "rejects.ndjson"
    rejects.write_text("of last time\n")

    manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--rejects", rejects)

    assert rejects.read_text() == ""


@pytest.mark.parametrize("place", ["absent/rejects.ndjson", "."])
def test_a_place_that_cant_be_written_stops_the_load_before_it_begins(manage, ndjson, tenant, corpus, tmp_path, place):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--rejects", tmp_path / place)

    assert done.status == 2
    assert "--rejects" in done.complaint
    with tenant_session(tenant):
        assert not DocumentKey.objects.for_tenant(tenant).exists()


def test_the_file_itself_is_never_overwritten(manage, ndjson, corpus):
    path = ndjson(make_document("a"))
    before = path.read_bytes()

    done = manage("ingest", path, "--tenant", "acme", "--rejects", path)

    assert done.status == 2
    assert "--rejects" in done.complaint
    assert path.read_bytes() == before
