"""The twenty answers of docs/examples.md are those that the project gives."""

from __future__ import annotations

import pytest

from benchmarks.environment import DEMO
from benchmarks.examples import FILE, SECTIONS, answers, load, section_of, written


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.xdist_group("examples")
@pytest.mark.parametrize("section", SECTIONS, ids=[section.tenant for section in SECTIONS])
def test_the_answers_are_those_of_the_document(section, db):
    if not section.file.exists():
        assert section.file != DEMO
        pytest.skip(f"{section.file.name} is not here: it is data to measure on, no part of the project")

    answered = written(section, list(answers(section, load(section))))

    assert answered.rstrip() == section_of(FILE.read_text(encoding="utf-8"), section).rstrip(), "make examples"


def test_refusals_are_among_the_examples():
    kept = FILE.read_text(encoding="utf-8")

    assert sum(len(section.examples) for section in SECTIONS) == 20
    assert kept.count("\n### ") == 20
    assert 2 <= kept.count("I cannot answer that from the indexed feedback.") <= 6
