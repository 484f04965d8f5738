"""Write docs/examples.md anew, or say where it differs from what the project answers: `--write`, `--check`.

Twenty questions, ten over the demo's corpus and ten over a real survey, each with its answer as a terminal shows it.
Made with the static embedder, so that every machine gives the same answers. A test compares them too.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.environment import DEMO, NHS, ROOT, bench

if TYPE_CHECKING:
    from tenants.models import Tenant

FILE = ROOT / "docs" / "examples.md"
# What is undated was received then.
NOW = datetime(2026, 12, 1, tzinfo=UTC)
_WIDTH = 112


@dataclass(frozen=True)
class Example:
    """A question with the filters that its asker sets, in the words of the command line."""

    question: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    options: str = ""


@dataclass(frozen=True)
class Section:
    """The examples over one corpus, and what a reader should know of it."""

    tenant: str
    title: str
    about: str
    file: Path
    examples: tuple[Example, ...]


SECTIONS = (
    Section(
        "demo",
        "Larkbasket",
        "635 pieces of feedback on an invented shop, written for this project (MIT): what `make demo` loads.",
        DEMO,
        (
            Example("What goes wrong with the Pip kettle?"),
            Example("How do customers get on with Wren, the chatbot?"),
            Example("How did late deliveries develop between October 2025 and February 2026?"),
            Example("How many records mention a refund?"),
            Example("Who cancelled their Plus membership in January 2026?"),
            Example("Have people taken to the insulating liners made of wool?"),
            Example("Is it easy to pause or cancel a Plus membership?"),
            Example("What are customers describing when they mention the errors E1042 and E2207?"),
            Example("Was berichten Kunden über geschmolzene Schokolade im Sommer?"),
            Example("What did callers say about the chatbot Wren?", {"source": ["call"]}, "--filter source=call"),
        ),
    ),
    Section(
        "nhs",
        "A patient survey",
        "6,169 comments of the Friends and Family Test of two NHS trusts, `NEAS` and `NHFT`, 2021 and 2022. Source:"
        " [CDU-data-science-team/pxtextmining](https://github.com/CDU-data-science-team/pxtextmining), MIT licence,"
        " © Nottinghamshire Healthcare NHS Foundation Trust and contributors.",
        NHS,
        (
            Example("What do patients say about the food?"),
            Example("What problems do people have getting through on the phone?"),
            Example("How many comments mention the ambulance crew?"),
            Example("What do patients praise about the staff?"),
            Example("How has patient transport developed since March 2021?"),
            Example("Compare NEAS and NHFT on waiting"),
            Example("Is the 111 service helpful?"),
            Example("How do patients feel about video appointments?"),
            Example("What do recent comments say about communication with families?"),
            Example("Do patients find the helicopter transfers comfortable?"),
        ),
    ),
)


def load(section: Section, *, now: datetime = NOW) -> Tenant:
    """Load a section's corpus into a tenant of its name, with near-duplicates clustered; return the tenant."""
    from core.tenant_session import tenant_session
    from feedback.importers.registry import open_file
    from feedback.selectors.corpora import get_corpus
    from feedback.services.clustering import cluster_waiting
    from feedback.services.loading import Destination
    from feedback.services.loading import load as load_file
    from tenants.selectors import find_tenant, get_tenant
    from tenants.services import create_tenant
    from wisdom_project.demo import FACETS

    if section.file == DEMO:
        from feedback.services.corpora import create_corpus, declare_facets

        tenant = find_tenant(slug=section.tenant) or create_tenant(slug=section.tenant, name=section.title, now=now)
        declare_facets(corpus=create_corpus(tenant=tenant, now=now, embedder="static"), facets=FACETS)
    destination = Destination(tenant=section.tenant, creates=section.file != DEMO, embedder="static")
    with open_file(section.file) as stream:
        load_file(stream=stream, destination=destination, now=now)
    tenant = get_tenant(slug=section.tenant)
    with tenant_session(tenant):
        corpus = get_corpus(tenant=tenant, slug="feedback")
    cluster_waiting(tenant=tenant, corpus=corpus)
    return tenant


def answers(section: Section, tenant: Tenant) -> Iterator[dict[str, Any]]:
    """Ask a section's questions."""
    from answering.services import ask
    from tenants.caller import operator

    for example in section.examples:
        yield ask(caller=operator(tenant), question=example.question, filters=example.filters or None, now=NOW)


def written(section: Section, answered: Sequence[Mapping[str, Any]]) -> str:
    """Return a section of the document."""
    from answering.domain.render import terminal

    parts = [
        f"## {section.title}",
        "",
        "\n".join(textwrap.wrap(section.about, 118, break_long_words=False, break_on_hyphens=False)),
        "",
    ]
    for example, answer in zip(section.examples, answered, strict=True):
        command = f"manage.py ask {shlex.quote(example.question)} --tenant {section.tenant} {example.options}".strip()
        lines = terminal(answer)
        parts += [f"### {example.question}", "", "```text", f"$ {command}", ""]
        parts += [wrapped for line in lines for wrapped in _wrapped(line)]
        parts += ["```", ""]
    return "\n".join(parts)


def _wrapped(line: str) -> list[str]:
    """Break a line for the page; no line of a record can end the block that it stands in."""
    indent = "  " if line.startswith("- ") else ""
    broken = textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [re.sub(r"^(\s*)```", r"\1'''", each) for each in broken] or [""]


def document(sections: Sequence[str]) -> str:
    """Return the whole document."""
    return (
        "\n".join(
            [
                "# Twenty questions and their answers",
                "",
                "What `manage.py ask` prints, on the path without a language model and with the static embedder. Quotes are exact"
                " spans,\nnumbers are counted by a stored query that can be run again. `make examples` writes this page anew; a"
                " test compares it\nwith what the project answers.",
                "",
                *sections,
            ]
        ).rstrip()
        + "\n"
    )


def section_of(text: str, section: Section) -> str:
    """Return a section as the document has it."""
    begin = text.index(f"## {section.title}\n")
    following = text.find("\n## ", begin + 1)
    return text[begin:] if following < 0 else text[begin : following + 1]


def main() -> None:
    """Write or check the document on an installation of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--write", action="store_true", help="write docs/examples.md anew")
    wanted.add_argument("--check", action="store_true", help="fail, with the difference, when it is out of date")
    options = parser.parse_args()
    absent = [section.file for section in SECTIONS if not section.file.exists()]
    if absent:
        sys.exit(f"{absent[0]} is missing: the examples need both corpora")
    with bench(WA_EMBEDDER="static") as installation:
        installation.enter()
        found = document([written(section, list(answers(section, load(section)))) for section in SECTIONS])
    if options.write:
        FILE.write_text(found, encoding="utf-8")
        print(f"{FILE.relative_to(ROOT)}: {sum(len(section.examples) for section in SECTIONS)} answers")
        return
    kept = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    if kept != found:
        sys.stdout.writelines(
            difflib.unified_diff(kept.splitlines(True), found.splitlines(True), "docs/examples.md", "answered now")
        )
        sys.exit("docs/examples.md is out of date: make examples")
    print("docs/examples.md is what the project answers")


if __name__ == "__main__":
    main()
