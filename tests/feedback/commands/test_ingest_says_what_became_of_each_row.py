"""A load counts what it did, changes nothing the second time, and refuses in one line that says what to do."""

from __future__ import annotations

import pytest

from feedback.importers import registry
from tests.factories import make_document

pytestmark = pytest.mark.django_db


def test_a_first_load_saves_and_a_second_changes_nothing(manage, ndjson):
    path = ndjson(make_document("a"), make_document("b"))

    first = manage("ingest", path, "--tenant", "nhs", "--create", "--json")
    second = manage("ingest", path, "--tenant", "nhs", "--create", "--json")

    assert first.status == second.status == 0
    assert (first.document["saved"], first.document["indexed"], first.document["corpus_size"]) == (2, 2, 2)
    assert (second.document["saved"], second.document["indexed"], second.document["unchanged"]) == (0, 0, 2)


def test_a_changed_text_is_one_update(manage, ndjson, corpus):
    manage("ingest", ndjson(make_document("a"), make_document("b")), "--tenant", "acme")

    done = manage(
        "ingest", ndjson(make_document("a", "Another text."), make_document("b")), "--tenant", "acme", "--json"
    )

    assert (done.document["updated"], done.document["unchanged"], done.document["indexed"]) == (1, 1, 1)


def test_a_bad_row_is_told_with_its_number_and_what_to_do(manage, ndjson, corpus):
    done = manage(
        "ingest", ndjson(make_document("a"), make_document("b", " "), "{broken"), "--tenant", "acme", "--json"
    )

    assert done.status == 0
    assert done.document["rejected"] == 2
    rejections = {each["row"]: each for each in done.document["rejections"]}
    assert rejections.keys() == {2, 3}
    assert all(each["code"] and each["message"] for each in rejections.values())


def test_standard_input_is_ndjson(manage, corpus):
    done = manage("ingest", "-", "--tenant", "acme", "--json", stdin='{"id": "a", "text": "Late again."}\n')

    assert done.document["saved"] == 1


def test_a_mapping_overrides_the_guess(manage, ndjson, corpus):
    path = ndjson('{"key": "a", "words": "Late again."}')

    done = manage("ingest", path, "--tenant", "acme", "--map", "key=id", "--map", "words=text", "--json")

    assert (done.document["saved"], done.document["rejected"]) == (1, 0)


def test_people_get_sentences(manage, ndjson, corpus):
    done = manage("ingest", ndjson(make_document("a"), make_document("b", "")), "--tenant", "acme")

    assert "1 saved" in done.out
    assert "Row 2" in done.out
    assert "acme/feedback holds 1 documents" in done.out


def test_an_unknown_tenant_is_refused_with_the_way_to_make_it(manage, ndjson):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "nobody", "--json")

    assert (done.status, done.out) == (2, "")
    assert "nobody" in done.complaint
    assert "--create" in done.complaint


def test_an_unknown_corpus_is_refused_with_the_way_to_make_it(manage, ndjson, corpus):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--corpus", "other")

    assert done.status == 2
    assert "--create" in done.complaint


def test_another_kind_than_the_corpus_has_is_refused(manage, ndjson, corpus):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--kind", "notes")

    assert done.status == 2
    assert "feedback" in done.complaint


def test_a_missing_file_is_named(manage, corpus, tmp_path):
    done = manage("ingest", tmp_path / "absent.csv", "--tenant", "acme")

    assert done.status == 2
    assert "absent.csv" in done.complaint


def test_a_folder_is_no_file(manage, corpus, tmp_path):
    done = manage("ingest", tmp_path, "--tenant", "acme")

    assert done.status == 2
    assert str(tmp_path) in done.complaint


def test_a_damaged_encoding_is_told_with_its_place(manage, corpus, tmp_path):
    path = tmp_path / "damaged.csv"
    good = "id,text\n" + "".join(f"{number},Das Café ist schön\n" for number in range(20))
    path.write_bytes(good.encode() + b"21,caf\xe9\n")

    done = manage("ingest", path, "--tenant", "acme")

    assert done.status == 2
    assert "UTF-8" in done.complaint


def test_a_mapping_to_no_field_lists_the_fields(manage, ndjson, corpus):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--map", "text=words")

    assert done.status == 2
    assert "occurred_at" in done.complaint


def test_a_bad_name_for_a_new_tenant_is_refused(manage, ndjson):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "No Such Name", "--create")

    assert done.status == 2
    assert "lower-case" in done.complaint


def test_a_fault_of_ours_is_a_status_of_its_own(manage, ndjson, corpus, monkeypatch):
    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(registry, "FORMATS", {"ndjson": break_down})

    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--json")

    assert (done.status, done.out) == (1, "")
    assert "ZeroDivisionError" in done.err
