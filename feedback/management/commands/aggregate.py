"""Count records by group."""

from __future__ import annotations

from typing import Any

from core.commands import WisdomCommand, positive_integer, readable_text
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import (
    Grouping,
    Selection,
    count_matching,
    group_matching,
    select_mentions,
)
from feedback.selectors.corpora import get_corpus, vocabulary_of
from tenants.selectors import get_tenant


class Command(WisdomCommand):
    help = (
        "Count records, the people behind them and the different texts among them, by theme, source, account or month."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--by",
            choices=[by.value for by in Grouping],
            default=Grouping.THEME.value,
            help="the groups; theme if not given",
        )
        parser.add_argument("--query", type=readable_text, help="only records that hold all of these words")
        parser.add_argument(
            "--corpus", default="feedback", type=readable_text, help="which corpus; feedback if not given"
        )
        parser.add_argument("--limit", type=positive_integer, help="at most so many groups")
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            type=readable_text,
            metavar="KEY=VALUE",
            help="only such records; a key is repeated for alternatives",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = get_tenant(slug=options["tenant"])
        with tenant_session(tenant):
            corpus = get_corpus(tenant=tenant, slug=options["corpus"])
            filters = FilterSet.from_pairs(options["filter"], vocabulary=vocabulary_of(corpus))
            selection = (
                select_mentions(corpus=corpus, text=options["query"], filters=filters)
                if options["query"] is not None
                else Selection(filters=filters)
            )
            total = count_matching(corpus=corpus, selection=selection, with_distinct=True)
            groups = group_matching(
                corpus=corpus,
                selection=selection,
                by=Grouping(options["by"]),
                limit=options["limit"],
                with_distinct=True,
            )
        if self.as_json:
            self.document(
                {
                    "total": total.value,
                    "people": total.people,
                    "distinct": total.distinct,
                    "groups": [
                        {
                            "key": group.key,
                            "count": group.count.value,
                            "people": group.count.people,
                            "distinct": group.count.distinct,
                            "doc_ids": list(group.count.doc_ids),
                        }
                        for group in groups
                    ],
                }
            )
            return
        self.say(f"{total.value:,} records of {total.people:,} people, {total.distinct:,} without near-duplicates")
        for group in groups:
            self.say(f"{group.count.value:8,}  {group.key}  ({', '.join(group.count.doc_ids)})")
