"""Cluster texts around leaders, and keep the clusters as if they were made anew after each change.

Texts stand in an order of their own. In that order each follows the first earlier leader that it is similar to, and
is a leader itself where there is none: two leaders are never similar, and each text is similar to its leader, so that
a chain of small edits can't join two unlike texts. A change is felt by later texts only, and only by those whose own
leader it is about: they are judged again in their order, which gives exactly what judging all of them would give
(the lexicographically first maximal independent set, kept up dynamically).

Similar texts are those that share a band key and whose shingles reach the threshold.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from feedback.domain.near_duplicates import reaches


@dataclass(slots=True)
class Text:
    """A text of a corpus: where it stands, what is compared, and whom it follows; None before it is judged."""

    id: UUID
    position: UUID
    shingles: frozenset[int]
    bands: tuple[int, ...]
    leader: UUID | None = None

    @property
    def is_leader(self) -> bool:
        return self.leader == self.id


class StoredTexts(Protocol):
    """The texts as they were before the changes."""

    def leaders(self, bands: Iterable[int]) -> Iterable[Text]:
        """Return the leaders that have any of the keys."""
        ...

    def sharing(self, bands: Iterable[int]) -> Iterable[Text]:
        """Return all texts that have any of the keys."""
        ...

    def followers(self, leaders: Iterable[UUID]) -> Iterable[Text]:
        """Return the texts that follow any of these, without the leaders themselves."""
        ...

    def last_position(self) -> UUID | None:
        """Return where the last text stands."""
        ...


class Leaders:
    """Changes to the texts of one corpus, and what follows from them.

    Announce the changes with `place`, `move` and `remove`, then `settle` once. A text that is already stored is
    given to `move` and `remove` as it is stored.
    """

    def __init__(self, stored: StoredTexts) -> None:
        self._stored = stored
        self._last = stored.last_position()
        self._texts: dict[UUID, Text] = {}
        self._by_band: defaultdict[int, set[UUID]] = defaultdict(set)
        self._removed: set[UUID] = set()
        # Keys whose leaders, or all of whose texts, are known here.
        self._known_leaders: set[int] = set()
        self._known: set[int] = set()
        self._queue: list[tuple[UUID, UUID]] = []
        self._queued: set[UUID] = set()
        self._moved_forward: set[UUID] = set()
        # Leaders that have gone or stand further back: who followed them is judged again.
        self._left: set[UUID] = set()
        self._before: dict[UUID, UUID | None] = {}

    def place(self, text: Text) -> None:
        """Add a text that isn't stored."""
        text.leader = None
        self._admit(text)
        self._push([text])

    def move(self, text: Text, position: UUID) -> None:
        """Let a stored text stand elsewhere."""
        text = self._admit(text)
        if text.is_leader and position > text.position:
            self._left.add(text.id)
        elif position < text.position:
            self._moved_forward.add(text.id)
        text.position = position
        self._push([text])

    def remove(self, text: Text) -> None:
        """Take a stored text away."""
        text = self._admit(text)
        self._removed.add(text.id)
        if text.is_leader:
            self._left.add(text.id)

    def settle(self) -> list[Text]:
        """Judge all texts that the changes are felt by; return those whose leader is another than before."""
        if self._left:
            self._push_followers(self._left)
        self._load_leaders(self._texts[identity] for _, identity in self._queue if identity not in self._removed)
        while self._queue:
            _, identity = heapq.heappop(self._queue)
            self._queued.discard(identity)
            if identity not in self._removed:
                self._judge(self._texts[identity])
        return [
            self._texts[identity]
            for identity, leader in self._before.items()
            if identity not in self._removed and self._texts[identity].leader != leader
        ]

    def _judge(self, text: Text) -> None:
        was_leader = text.is_leader
        self._load_leaders([text])
        first = min(
            (
                (other.position, other.id)
                for other in self._sharing(text)
                if other.is_leader and other.position < text.position and reaches(text.shingles, other.shingles)
            ),
            default=None,
        )
        text.leader = text.id if first is None else first[1]
        if text.is_leader and (not was_leader or text.id in self._moved_forward):
            self._push(self._later_than_their_leader(text))
        elif was_leader and not text.is_leader:
            self._push_followers([text.id])

    def _later_than_their_leader(self, leader: Text) -> list[Text]:
        """Return the later texts that are similar to a new leader and don't follow an earlier one."""
        if self._last is not None and leader.position < self._last:
            self._load_all(leader.bands)
        found = []
        for other in self._sharing(leader):
            if other.position <= leader.position or other.leader is None:
                continue
            theirs = self._texts.get(other.leader)
            if (theirs is None or theirs.position > leader.position) and reaches(leader.shingles, other.shingles):
                found.append(other)
        return found

    def _sharing(self, text: Text) -> list[Text]:
        ids = {identity for band in text.bands for identity in self._by_band.get(band, ())}
        return [self._texts[identity] for identity in ids - self._removed if identity != text.id]

    def _push_followers(self, leaders: Iterable[UUID]) -> None:
        gone = set(leaders)
        for text in self._stored.followers(gone):
            self._admit(text)
        self._push([text for text in self._texts.values() if text.leader in gone and text.id not in gone])

    def _push(self, texts: Iterable[Text]) -> None:
        for text in texts:
            if text.id not in self._queued and text.id not in self._removed:
                self._queued.add(text.id)
                heapq.heappush(self._queue, (text.position, text.id))

    def _load_leaders(self, texts: Iterable[Text]) -> None:
        missing = {band for text in texts for band in text.bands} - self._known_leaders
        if missing:
            self._known_leaders |= missing
            for found in self._stored.leaders(missing):
                self._admit(found)

    def _load_all(self, bands: Iterable[int]) -> None:
        missing = set(bands) - self._known
        if missing:
            self._known |= missing
            self._known_leaders |= missing
            for found in self._stored.sharing(missing):
                self._admit(found)

    def _admit(self, text: Text) -> Text:
        """Know a text; what is known of it already is newer than what is stored."""
        known = self._texts.setdefault(text.id, text)
        if known is text:
            self._before[text.id] = text.leader
            for band in text.bands:
                self._by_band[band].add(text.id)
        return known
