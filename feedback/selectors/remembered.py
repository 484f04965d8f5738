"""Remember what was counted for as long as the corpus stays as it was (decision 15)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from django.core.cache import caches

from core.tenant_session import seen_in_session
from feedback.selectors.corpora import corpus_state

if TYPE_CHECKING:
    from feedback.models import Corpus

# More groups than these are counted each time: memory is for what questions ask for.
_MOST_GROUPS = 100
CountedT = TypeVar("CountedT")


def remembered(corpus: Corpus, asked: list[Any], count: Callable[[], CountedT]) -> CountedT:
    """Return what was counted in the corpus as it is now, else count.

    The changes are read before the records are: what a writer commits between the two may be counted already, and is
    counted anew by whoever reads them after it. A session that writes remembers nothing: its changes are half made, or
    taken back.
    """
    key = _key(corpus, asked)
    known: CountedT | None = recalled(key)
    if known is not None:
        return known
    counted = count()
    remember(key, counted)
    return counted


def keys_of(corpus: Corpus, asked: list[list[Any]]) -> list[str | None]:
    """Return where each of some counts is remembered, to be read before they are counted."""
    return [_key(corpus, each) for each in asked]


def recalled(key: str | None) -> Any:
    """Return what was remembered; None where nothing was, or where this session may not remember."""
    return None if key is None else caches["counts"].get(key)


def remember(key: str | None, counted: Any) -> None:
    """Remember what was counted after its key was made."""
    if key is not None and (not isinstance(counted, list) or len(counted) <= _MOST_GROUPS):
        caches["counts"].set(key, counted)


def _key(corpus: Corpus, asked: list[Any]) -> str | None:
    if seen_in_session() is None:
        return None
    changes = corpus_state(corpus=corpus).changes
    described = orjson.dumps([str(corpus.id), changes, *asked], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(described, digest_size=20).hexdigest()
