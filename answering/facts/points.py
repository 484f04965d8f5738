"""Find the points of an answer: themes, words and near-duplicates of what leads, and what says otherwise."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from answering.domain.claims import LISTED_DOC_IDS, PointKind
from answering.domain.facts import Fact, FactKind, Topic
from answering.domain.planner import Intent, Plan
from answering.domain.relevance import is_stance
from answering.facts.lead import Lead
from answering.measures import measured
from answering.tools import Breakdown
from feedback.domain.filters import FilterSet
from feedback.domain.instructions import gives_orders
from feedback.domain.polarity import POLES, affirmation, directions
from feedback.domain.retrieval import Hit
from feedback.domain.text import Token, TokenKind, content_tokens, sentences
from feedback.domain.valence import is_valued, valence, without_answer
from feedback.selectors.aggregates import Count, Grouping, Selection, count_each, count_matching, group_matching
from feedback.selectors.clusters import list_clusters_of
from feedback.selectors.corpora import corpus_state
from feedback.selectors.retrieval import terms_of_texts

if TYPE_CHECKING:
    from feedback.models import Corpus

MOST_TOPICS = 4
# Fewer records than these are quoted, not divided.
FEWEST_RECORDS = 6
_FEWEST_OF_TOPIC = 2
_LEAST_PART = 0.1
# A part as large as this is nearly all of them: it tells of the topic, and not of a point within it.
_MOST_PART = 0.9
_FEWEST_LIKE = 3
_GROUPS = 8
_CANDIDATE_WORDS = 6
_MOST_WORDS = 2
_LEAST_OF_WORD = 0.3
_SHORTEST_WORD = 4
# How much more often than elsewhere a word must be among the records that lead.
_LIFT = 2.0
# Unless the question says which side it is on, so many must be on one before the other is "the other side".
_FEWEST_WITH = 3
# The sides that are praise or complaint and in no list of words that are.
_VALUED_SIDES = [axis for word in ("better", "faster") for axis, sign in POLES[word] if sign == 1]
# Stemmed, "please" would be pleased.
_PLEASE = re.compile(r"\b(?:please|thanks?\s+(?:you\s+)?in\s+advance|bitte)\b", re.IGNORECASE)
_ASKS_FOR_PRAISE = re.compile(
    r"\b(?:like|love|prais\w*|enjoy\w*|appreciat\w*|happy|satisfied|pleased|recommend\w*|positive|good|best|work(?:s|ed)?\s+well|taken\s+to|"
    r"easy|gefällt|loben|zufrieden|gusta|elogian|contentos)\b",
    re.IGNORECASE,
)
_ASKS_FOR_COMPLAINT = re.compile(
    r"\b(?:complain\w*|complaints?|problems?|trouble|wrong|dislike\w*|hate|issues?|difficult\w*|upset|unhappy|dissatisfied|bad|worst|negative|"
    r"annoy\w*|frustrat\w*|critici\w*|fail\w*|broken?|unreliable|beschwer\w*|probleme?|ärger\w*|quejan?|quejas|problemas?|plaign\w*)\b",
    re.IGNORECASE,
)
# Themes that only say that a record has none.
_NO_THEME = re.compile(
    r"^\W*(?:not\s+assigned|unassigned|unspecified\b.*|other|others|misc\w*|general|none|n/?a|unknown|sonstiges?|otros?|autres?)\W*$",
    re.IGNORECASE,
)


def topics_among(corpus: Corpus, plan: Plan, lead: Lead, evidence: Sequence[Hit]) -> list[Topic]:
    """Divide the records that lead by theme, and by what else they mention where themes tell little."""
    of = int(lead.fact.measure.value)
    if of < FEWEST_RECORDS:
        return []
    within = lead.selection.within
    if within and within[0] is Grouping.ACCOUNT:
        # A selection has room for one group: the account becomes a filter.
        filters = lead.selection.filters.narrowed(account=(within[1],))
        lead = replace(lead, selection=Selection(lead.selection.groups, filters))
    topics = _themes(corpus, lead, of, evidence)
    if len(topics) < _FEWEST_OF_TOPIC:
        topics += _words(corpus, plan, lead, of, evidence)
    return topics[:MOST_TOPICS]


def themes_of_all(breakdown: Breakdown, asked: int, evidence: Sequence[Hit]) -> list[Topic]:
    """Name the largest themes, for a question about everything that the filters admit.

    Who asks for complaints is not told of a theme whose name is praise.
    """
    topics = []
    for group in breakdown.groups:
        praise, complaint = valence(group.key, affirmation(group.key, "en"))
        if _NO_THEME.match(group.key) or (praise - complaint) * asked < 0:
            continue
        selection = Selection((), breakdown.selection.filters, (breakdown.by, group.key))
        fact = Fact(FactKind.THEME, group.key, measured(group.count, selection, denominator=breakdown.total.value))
        topics.append(Topic(PointKind.THEME, _of_theme(evidence, group.key), fact))
    return topics[:MOST_TOPICS]


def clusters_of(corpus: Corpus, filters: FilterSet, evidence: Sequence[Hit]) -> list[Topic]:
    """Count the stored near-duplicates of what was retrieved, within the filters; pairs are no point of their own."""
    if any(part.ids for part in filters.slices):
        return []
    known = list_clusters_of(corpus=corpus, doc_ids=[hit.doc_id for hit in evidence])
    members: dict[object, list[str]] = defaultdict(list)
    for hit in evidence:
        cluster, size = known.get(hit.doc_id, (None, 0))
        if size >= _FEWEST_LIKE:
            members[cluster].append(hit.doc_id)
    topics = []
    for doc_ids in members.values():
        selection = Selection(filters=filters, like=doc_ids[0])
        count = count_matching(corpus=corpus, selection=selection)
        if count.value >= _FEWEST_LIKE:
            fact = Fact(FactKind.NEAR_DUPLICATES, doc_ids[0], measured(count, selection, denominator=None))
            topics.append(Topic(PointKind.NEAR_DUPLICATES, frozenset(doc_ids), fact))
    return topics


@dataclass(frozen=True, slots=True)
class Leanings:
    """Which way the retrieved records lean, by id: more than 0 praises, less complains. `asked` is what is asked for."""

    asked: int
    of: Mapping[str, int]

    @property
    def favoured(self) -> frozenset[str]:
        """Return the records that lean as the question asks."""
        return frozenset(doc_id for doc_id, leaning in self.of.items() if leaning * self.asked > 0)


def leanings_of(plan: Plan, evidence: Sequence[Hit]) -> Leanings:
    """Tell which way the question and the retrieved records lean, as far as their words say."""
    asked = bool(_ASKS_FOR_PRAISE.search(plan.question)) - bool(_ASKS_FOR_COMPLAINT.search(plan.question))
    # Who asks about cancelling is not told that whoever cancels complains.
    about = frozenset(token.stem for token in content_tokens(plan.question, plan.language))
    return Leanings(asked, {hit.doc_id: _leaning(hit, about) for hit in evidence if not gives_orders(hit.passage_text)})


def otherwise(plan: Plan, leans: Leanings, evidence: Sequence[Hit]) -> list[Topic]:
    """Name the retrieved records that lean the other way than the question asks for, else than most of them do.

    Who asks why or who, and not about praise or complaint, is told the reasons and the names.
    """
    if not leans.asked and plan.intent not in (Intent.WHAT, Intent.COMPARE):
        return []
    sides = {way: sum(each * way > 0 for each in leans.of.values()) for way in (1, -1)}
    way = leans.asked or (1 if sides[1] > sides[-1] else -1)
    # Where the question doesn't say which side it is on, the other one has to speak clearly.
    opposed = tuple(doc_id for doc_id, each in leans.of.items() if each * -way >= (1 if leans.asked else 2))
    if not opposed or (not leans.asked and sides[way] < max(_FEWEST_WITH, 2 * len(opposed))):
        return []
    read = tuple(hit.doc_id for hit in evidence)
    hits = [hit for hit in evidence if hit.doc_id in opposed]
    count = Count(
        len(opposed),
        len({hit.person for hit in hits if hit.person}),
        len({hit.account for hit in hits if hit.account}),
        opposed[:LISTED_DOC_IDS],
        undated=sum(not hit.has_date for hit in hits),
    )
    measure = measured(
        count,
        Selection(filters=FilterSet(ids=opposed)),
        denominator=None,
        parts={"of": (len(read), Selection(filters=FilterSet(ids=read)))},
    )
    kind = FactKind.COMPLAINT if way > 0 else FactKind.PRAISE
    return [Topic(PointKind.OTHERWISE, frozenset(opposed), Fact(kind, "", measure))]


def _leaning(hit: Hit, about: frozenset[str]) -> int:
    """Return how many words praise, less than 0 how many complain; 0 where some do either: irony has few of both.

    Words of the question are what the record is `about`, whatever they are otherwise.
    """
    praise = complaint = 0
    has_negator = False
    text = hit.passage_text
    for token in reversed(content_tokens(text, hit.language)):
        if token.stem in about:
            text = text[: token.start] + text[token.end :]
    text = _PLEASE.sub("", text)
    for span in sentences(text):
        said = without_answer(text[span.start : span.end])
        affirmed = affirmation(said, hit.language)
        has_negator = has_negator or affirmed.has_negator
        more, less = valence(said, affirmed, hit.language)
        sides = directions(said, hit.language, affirmed)
        taken = [sides[axis][0] for axis in _VALUED_SIDES if axis in sides]
        praise += more or {1} in taken
        complaint += less or {-1} in taken
    if praise and not complaint:
        return 0 if has_negator or '"' in text or "?" in text else praise
    return -complaint if complaint and not praise else 0


def _themes(corpus: Corpus, lead: Lead, of: int, evidence: Sequence[Hit]) -> list[Topic]:
    groups = group_matching(corpus=corpus, selection=lead.selection, by=Grouping.THEME, limit=_GROUPS)
    topics = []
    for group in groups:
        documents = _of_theme(evidence, group.key) & lead.documents
        is_part = _is_part(group.count.value, of) and group.count.value < of * _MOST_PART
        if documents and is_part and not _NO_THEME.match(group.key):
            selection = replace(lead.selection, within=(Grouping.THEME, group.key))
            topics.append(
                Topic(
                    PointKind.THEME, documents, _part(FactKind.PART_THEME, group.key, group.count, selection, lead, of)
                )
            )
    return topics


def _words(corpus: Corpus, plan: Plan, lead: Lead, of: int, evidence: Sequence[Hit]) -> list[Topic]:
    """Count what several of the retrieved records mention beside the topic, and others seldom do."""
    asked = {term for facet in plan.facets for term in facet.terms} | {
        t.stem for t in content_tokens(plan.question, plan.language)
    }
    holders: dict[str, set[str]] = defaultdict(set)
    surfaces: dict[str, str] = {}
    for hit in evidence:
        if hit.doc_id not in lead.documents or hit.language != plan.language or gives_orders(hit.passage_text):
            continue
        for token in content_tokens(hit.passage_text, hit.language):
            if _says_something(token, hit.language) and token.stem not in asked:
                holders[token.stem].add(hit.doc_id)
                surfaces[token.stem] = min(surfaces.get(token.stem, token.surface), token.surface, key=len)
    shared = [stem for stem in holders if len(holders[stem]) >= _FEWEST_LIKE]
    terms = terms_of_texts(corpus=corpus, texts=[surfaces[stem] for stem in shared], language=plan.language)
    known = {stem: each[0] for stem, each in zip(shared, terms, strict=True) if len(each) == 1 and each[0].term_id}
    best = sorted(known, key=lambda stem: (-len(holders[stem]) * known[stem].idf, stem))[:_CANDIDATE_WORDS]
    selections = [replace(lead.selection, groups=(*lead.selection.groups, (known[stem].lexeme,))) for stem in best]
    counts = count_each(corpus=corpus, selections=selections)
    topics, taken = [], list[frozenset[str]]()
    size = max(corpus_state(corpus=corpus).documents, 1)
    for stem, selection, count in zip(best, selections, counts, strict=True):
        documents = frozenset(holders[stem])
        lift = count.value / of / max(known[stem].document_frequency / size, 1e-9)
        if count.value < of * _LEAST_OF_WORD or lift < _LIFT or documents in taken:
            continue
        taken.append(documents)
        topics.append(
            Topic(
                PointKind.WORD, documents, _part(FactKind.PART_WORD, surfaces[stem].lower(), count, selection, lead, of)
            )
        )
    return topics[:_MOST_WORDS]


def _says_something(token: Token, language: str) -> bool:
    if token.kind is not TokenKind.WORD or len(token.surface) < _SHORTEST_WORD:
        return False
    return not is_valued(token.stem, language) and not is_stance(token.surface)


def _is_part(value: int, of: int) -> bool:
    return max(_FEWEST_OF_TOPIC, of * _LEAST_PART) <= value <= of


def _part(kind: FactKind, subject: str, count: Count, selection: Selection, lead: Lead, of: int) -> Fact:
    measure = measured(count, selection, denominator=None, parts={"of": (of, lead.selection)})
    return Fact(kind, subject, measure)


def _of_theme(evidence: Sequence[Hit], theme: str) -> frozenset[str]:
    return frozenset(hit.doc_id for hit in evidence if theme in hit.themes)
