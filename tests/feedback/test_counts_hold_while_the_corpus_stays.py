"""What was counted is remembered until the corpus changes, and not a moment longer."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import caches
from django.db import connection, transaction

from core.clock import utc_now
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.models import DocumentKey
from feedback.selectors.aggregates import (
    Grouping,
    Selection,
    count_each,
    count_matching,
    first_and_last,
    group_matching,
    list_matching,
)
from feedback.selectors.corpora import corpus_state
from feedback.services.clustering import cluster_waiting
from feedback.services.deletion import delete_document, restore_document
from feedback.services.lexical_index import lock_statistics, remove_passages
from tenants.caller import operator
from tests import factories

PARKING = Selection(groups=(("park",),))


@pytest.fixture
def statements():
    """Give the list of statements that count; it grows."""
    found = []

    def note(execute, sql, params, many, context):
        if "feedback_matching" in str(sql):
            found.append(str(sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield found


def _count(corpus, selection=PARKING):
    with tenant_session(corpus.tenant):
        return count_matching(corpus=corpus, selection=selection).value


def test_an_equal_selection_is_read_once(corpus, ingest, statements):
    ingest(factories.make_document("d1", "Parking was full."))

    assert [_count(corpus), _count(corpus, Selection(groups=(("park",),)))] == [1, 1]
    assert len(statements) == 1
    assert _count(corpus, Selection(groups=(("park",),), filters=FilterSet(source=("call",)))) == 0
    assert len(statements) == 2


def test_every_change_makes_it_count_again(corpus, ingest):
    caller, now = operator(corpus.tenant), utc_now()
    ingest(factories.make_document("d1", "Parking was full."))
    counts = [_count(corpus)]
    ingest(factories.make_document("d2", "No parking at all."))
    counts.append(_count(corpus))
    ingest(factories.make_document("d2", "Nothing at all."))
    counts.append(_count(corpus))
    delete_document(caller=caller, corpus=corpus, external_id="d1", now=now)
    counts.append(_count(corpus))
    restore_document(caller=caller, corpus=corpus, external_id="d1", now=now)
    counts.append(_count(corpus))

    assert counts == [1, 2, 1, 0, 1]


def test_what_a_session_counts_after_its_own_change_is_new(corpus, ingest):
    ingest(factories.make_document("d1", "Parking was full."))
    with tenant_session(corpus.tenant):
        before = count_matching(corpus=corpus, selection=PARKING).value
        ingest(factories.make_document("d2", "No parking at all."))
        after = count_matching(corpus=corpus, selection=PARKING).value

    assert (before, after) == (1, 2)


def test_what_a_session_counts_half_way_through_its_change_is_not_kept(corpus, ingest):
    ingest(factories.make_document("d1", "Parking was full."))
    with tenant_session(corpus.tenant):
        lock_statistics(corpus)
        before = count_matching(corpus=corpus, selection=PARKING).value
        (key,) = DocumentKey.objects.for_tenant(corpus.tenant)
        remove_passages(corpus, lock_statistics(corpus), [(key.id, key.occurred_at)])
        after = count_matching(corpus=corpus, selection=PARKING).value

    assert (before, after, _count(corpus)) == (1, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_taken_back_leaves_no_count_behind(corpus, ingest):
    ingest(factories.make_document("d1", "Parking was full."))
    with tenant_session(corpus.tenant), transaction.atomic():
        ingest(factories.make_document("d2", "No parking at all."))
        undone = count_matching(corpus=corpus, selection=PARKING).value
        changes = corpus_state(corpus=corpus).changes
        transaction.set_rollback(True)
    ingest(factories.make_document("d3", "Quiet rooms."))
    with tenant_session(corpus.tenant):
        now = corpus_state(corpus=corpus).changes

    # The number of changes is the same again, and the corpus isn't.
    assert changes == now
    assert (undone, _count(corpus)) == (2, 1)


def test_counts_without_near_duplicates_follow_the_clusters(corpus, ingest):
    text = "The parking garage was full again on Monday morning and nobody helped us to find a place."
    ingest(factories.make_document("d1", text), factories.make_document("d2", text + " Sad."))

    def distinct():
        with tenant_session(corpus.tenant):
            return count_matching(corpus=corpus, selection=PARKING, with_distinct=True).distinct

    before = distinct()
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    assert (before, distinct()) == (2, 1)


def test_another_tenants_counts_are_its_own(corpus, other_corpus, ingest):
    ingest(factories.make_document("d1", "Parking was full."))

    assert (_count(corpus), _count(other_corpus)) == (1, 0)


def test_groups_and_ends_follow_the_corpus(corpus, ingest):
    def read():
        with tenant_session(corpus.tenant):
            groups = group_matching(corpus=corpus, selection=PARKING, by=Grouping.MONTH)
            return [(group.key, group.count.value) for group in groups], first_and_last(
                corpus=corpus, selection=PARKING
            )

    ingest(factories.make_document("d1", "Parking was full.", occurred_at="2026-01-05"))
    before = read()
    ingest(factories.make_document("d2", "No parking.", occurred_at="2026-03-05"))

    january, march = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 3, 5, tzinfo=UTC)
    assert before == ([("2026-01-01", 1)], (january, january))
    assert read() == ([("2026-01-01", 1), ("2026-03-01", 1)], (january, march))


def test_one_group_counts_what_the_break_down_says(corpus, ingest):
    rng = random.Random(11)
    first = datetime(2024, 12, 20, tzinfo=UTC)
    ingest(
        *(
            factories.make_document(
                f"r{number}",
                "Parking was full." if rng.random() < 0.7 else "Quiet rooms.",
                source=rng.choice(("survey", "call")),
                themes=rng.sample(["Cost", "Access", "Staff"], rng.randint(0, 2)),
                account=rng.choice(("Northwind", "Initech", None)),
                **({"occurred_at": (first + timedelta(days=rng.randint(0, 500))).isoformat()} if number % 9 else {}),
            )
            for number in range(120)
        )
    )
    for filters in (
        FilterSet(),
        FilterSet(source=("call",), theme=("Access", "Cost")),
        FilterSet(occurred_from=datetime(2025, 2, 10, tzinfo=UTC), occurred_to=datetime(2025, 8, 3, tzinfo=UTC)),
        FilterSet(ids=("r1", "r2", "r3", "r4")),
        FilterSet.union([FilterSet(source=("call",)), FilterSet(theme=("Staff",))]),
    ):
        for by in Grouping:
            selection = Selection(groups=(("park",),), filters=filters)
            with tenant_session(corpus.tenant):
                for group in group_matching(corpus=corpus, selection=selection, by=by):
                    one = Selection(selection.groups, filters, (by, group.key))
                    assert count_matching(corpus=corpus, selection=one) == group.count, (filters, by, group.key)
                    assert len(list_matching(corpus=corpus, selection=one, limit=200)) == group.count.value


@pytest.mark.parametrize("key", ["2026-02-30", "soon", "", "9999-12-31", "2026-01-15"])
@pytest.mark.parametrize("by", [Grouping.MONTH, Grouping.WEEK, Grouping.YEAR])
def test_a_key_that_names_no_interval_counts_nothing(corpus, ingest, by, key):
    ingest(factories.make_document("d1", "Parking was full.", occurred_at="2026-01-15"))

    assert _count(corpus, Selection(PARKING.groups, within=(by, key))) == 0


def test_counted_together_or_by_group_a_selection_has_the_count_that_it_has_alone(corpus, ingest, statements):
    """And is read once for all of them."""
    ingest(
        *(
            factories.make_document(
                f"d{n}",
                "Parking was full.",
                themes=["Parking", f"Theme {n % 2}"],
                account=f"A{n % 3}",
                # Records without a date of their own are counted as such, by whichever way.
                occurred_at=None if n % 2 else "2026-01-12",
            )
            for n in range(5)
        )
    )
    within = [Selection(PARKING.groups, within=(Grouping.THEME, theme)) for theme in ("Parking", "Theme 0", "Theme 1")]
    several = [PARKING, Selection(groups=(("nothing",),)), Selection(filters=FilterSet(account=("A1",)))]
    with tenant_session(corpus.tenant):
        alone = [count_matching(corpus=corpus, selection=selection) for selection in (*within, *several)]
    caches["counts"].clear()
    statements.clear()

    with tenant_session(corpus.tenant):
        groups = group_matching(corpus=corpus, selection=PARKING, by=Grouping.THEME, limit=8)
        together = count_each(corpus=corpus, selections=several)
        again = [count_matching(corpus=corpus, selection=selection) for selection in (*within, *several)]

    assert [group.count for group in groups] == alone[:3]
    assert together == alone[3:]
    assert again == alone
    assert len(statements) == 2


def test_a_cluster_is_counted_as_it_is_now_though_the_corpus_stays(corpus, ingest):
    text = "Parking at the clinic was full again this whole morning"
    ingest(
        *(
            factories.make_document(f"d{n}", text, source=source)
            for n, source in enumerate(("survey", "survey", "call"))
        )
    )
    alike = Selection(like="d0")
    surveys = Selection(filters=FilterSet(source=("survey",)), like="d0")

    before = _count(corpus, alike)
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    assert before == 1
    assert (_count(corpus, alike), _count(corpus, surveys)) == (3, 2)
    assert _count(corpus, Selection(groups=(("nothing",),), like="d0")) == 0
    assert _count(corpus, Selection(like="absent")) == 0
    with tenant_session(corpus.tenant):
        assert sorted(list_matching(corpus=corpus, selection=surveys, limit=9)) == ["d0", "d1"]
