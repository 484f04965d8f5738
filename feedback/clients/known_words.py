"""Tell whether a word is English, by the word list of a model that comes with the application."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from feedback.clients.embedders.minilm import tokenizer_file
from feedback.clients.embedders.model_files import load_tokenizer
from feedback.clients.embedders.protocol import EmbedderUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def is_known_word(word: str) -> bool:
    """Say whether MiniLM's vocabulary has the word whole: the 20,000 or so that English texts use most.

    What is misspelt falls into pieces. Without the model's files nothing is known.
    """
    vocabulary = _vocabulary()
    return vocabulary is not None and vocabulary.token_to_id(word.lower()) is not None


@lru_cache(maxsize=1)
def _vocabulary() -> Tokenizer | None:
    try:
        return load_tokenizer(tokenizer_file())
    except EmbedderUnavailable:
        return None
