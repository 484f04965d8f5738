"""Embed by averaging word-piece vectors: thousands of texts a second, so that ingest need not wait."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from feedback.clients.embedders.model_files import load_tokenizer, tokenizable, verified_file
from feedback.clients.embedders.protocol import Vectors, unit_rows

_WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_BATCH = 512
# The file has half precision. From so many texts on, widening all of it is quicker than widening what they use.
_MANY = 64


class StaticEmbedder:
    """The 256-dimensional vectors of wordllama, read from the package's files.

    The package itself is not imported: it wants modules that we don't install and reconfigures logging.
    Loads on first use. Safe to share between threads.
    """

    name = "static"
    version = f"wordllama-l2-supercat-256:{_WEIGHTS_SHA256[:12]}"
    dimensions = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: tuple[Tokenizer, npt.NDArray[np.floating]] | None = None

    def reads(self, text: str) -> bool:
        """Say yes: the model has pieces of every script, at least single characters, and finds texts that share them."""
        return True

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text."""
        rows = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            rows[start : start + _BATCH] = self._means(texts[start : start + _BATCH])
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector

    def _means(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        tokenizer, weights = self._loaded()
        if len(texts) >= _MANY and weights.dtype != np.float32:
            weights = weights.astype(np.float32)
            self._model = tokenizer, weights
        encodings = tokenizer.encode_batch_fast(tokenizable(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        lengths = np.fromiter(map(len, ids), np.intp, len(ids))
        rows = np.zeros((len(ids), self.dimensions), np.float32)
        filled = np.flatnonzero(lengths)
        if filled.size:
            pieces = weights[np.concatenate([ids[i] for i in filled]).astype(np.intp)].astype(np.float32, copy=False)
            starts = np.concatenate(([0], np.cumsum(lengths[filled])[:-1]))
            rows[filled] = np.add.reduceat(pieces, starts, axis=0) / lengths[filled, None]
        return rows

    def _loaded(self) -> tuple[Tokenizer, npt.NDArray[np.floating]]:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load()
        return self._model


def _load() -> tuple[Tokenizer, npt.NDArray[np.floating]]:
    weights = verified_file("wordllama", "weights/l2_supercat_256.safetensors", sha256=_WEIGHTS_SHA256)
    tokenizer = verified_file("wordllama", "tokenizers/l2_supercat_tokenizer_config.json", sha256=_TOKENIZER_SHA256)
    return load_tokenizer(tokenizer), load_file(weights)["embedding.weight"]
