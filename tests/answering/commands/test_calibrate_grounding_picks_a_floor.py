"""`calibrate_grounding` picks a floor by labelled claims, says what it costs, writes it down, and may apply it."""

from __future__ import annotations

import json

import pytest

from answering.calibrations import BUNDLED, grounding_rules, read_calibration
from core.configuration import PROJECT_ROOT
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus

COMMENTS = PROJECT_ROOT / "evals/fixtures/grounding/comments.jsonl"


@pytest.fixture
def labelled(tmp_path):
    """Twenty-five claims of either kind, told apart by a number."""
    path = tmp_path / "labelled.jsonl"
    rows = [
        {"id": f"{label}-{i}", "claim": f"Order {i} came late and wet.", "evidence": text, "label": label}
        for i in range(25)
        for label, text in ((1, f"Order {i} came late, and wet."), (0, f"Order {i} was fine as it came."))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_curve_and_the_choice_are_printed_and_written(manage, labelled, tmp_path):
    out = tmp_path / "made.json"

    done = manage("calibrate_grounding", labelled, "--out", out)

    assert done.status == 0
    assert "50 claims, 25 of them supported, from labelled.jsonl" in done.out
    assert "Chosen, for the best balanced accuracy" in done.out
    assert read_calibration(out).version in done.out


def test_json_is_one_document_with_the_curve(manage, labelled, tmp_path):
    done = manage("calibrate_grounding", labelled, "--max-unsupported", "2%", "--out", tmp_path / "c.json", "--json")

    assert done.document["max_risk"] == 0.02
    assert done.document["chosen"]["risk"] <= 0.02
    assert done.document["curve"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-unsupported", "150%"], "is no share"),
        (["--max-unsupported", "2%", "--max-rejected", "5%"], "Choose one"),
        (["--apply"], "add --corpus"),
        (["--out", "/proc/none/x.json"], "can't be written"),
    ],
)
def test_what_cannot_be_is_said(manage, labelled, words, message):
    done = manage("calibrate_grounding", labelled, *words)

    assert done.status == 2
    assert message in done.err


def test_a_line_without_a_label_is_named(manage, tmp_path):
    path = tmp_path / "unlabelled.jsonl"
    path.write_text(
        '{"id": 1, "claim": "Late.", "evidence": "Late.", "label": 1}\n{"id": 2, "claim": "x", "evidence": "y"}\n'
    )

    done = manage("calibrate_grounding", path)

    assert done.status == 2
    assert "Line 2" in done.err
    assert "label must be 1" in done.err


@pytest.mark.django_db(transaction=True)
def test_a_corpus_may_have_its_own(manage, labelled, tmp_path, corpus):
    before = grounding_rules(corpus)

    done = manage(
        "calibrate_grounding", labelled, "--out", tmp_path / "own.json", "--apply", "--corpus", corpus.slug,
        "--tenant", corpus.tenant.slug,
    )  # fmt: skip

    assert done.status == 0, done.err
    with tenant_session(corpus.tenant):
        own = grounding_rules(get_corpus(tenant=corpus.tenant, slug=corpus.slug))
    assert own.floors == ((read_calibration(tmp_path / "own.json").evidence_characters, own.min_support),)
    assert own.floors != before.floors


def test_the_bundled_calibration_of_comments_is_made_from_its_file(manage, tmp_path):
    out = tmp_path / "again.json"

    done = manage("calibrate_grounding", COMMENTS, "--max-rejected", "5%", "--out", out)

    assert done.status == 0
    made, bundled = read_calibration(out), read_calibration(BUNDLED[0])
    assert (made.claims, made.data_sha256, made.checker) == (bundled.claims, bundled.data_sha256, bundled.checker)
    assert made.floor == pytest.approx(bundled.floor, abs=0.01), "make it anew: see evals/fixtures/grounding/README.md"


def test_long_evidence_and_other_languages_are_verified(manage):
    long = "Das Wetter war schön. " * 900 + "Der Deckel des Wasserkochers brach nach drei Monaten ab."
    lines = [
        {"id": "long", "claim": "Nach drei Monaten brach der Deckel des Wasserkochers ab.", "evidence": long},
        {"id": "number", "claim": "Nach vier Monaten brach der Deckel des Wasserkochers ab.", "evidence": long},
        {"id": "es", "claim": "La tapa no cierra.", "evidence": ["La tapa del hervidor cierra bien."], "lang": "es"},
    ]

    done = manage("verify", "-", stdin="".join(json.dumps(line) + "\n" for line in lines))

    assert [line["supported"] for line in done.lines] == [True, False, False]
    failed = [[c["check"] for c in line["checks"] if not c["agrees"]] for line in done.lines]
    assert "number" in failed[1]
    assert "negation" in failed[2]
