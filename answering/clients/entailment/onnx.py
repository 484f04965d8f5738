"""Judge with an entailment model in the ONNX format, on the processor."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
from tokenizers import Tokenizer

from answering.clients.entailment.protocol import EntailmentUnavailable
from answering.domain.entailment import EntailmentVerdict, Label, Pair

if TYPE_CHECKING:
    import onnxruntime

MODEL, TOKENIZER, CONFIG = "model.onnx", "tokenizer.json", "config.json"
_MAX_TOKENS: Final = 512
# The claim must not be crowded out of the window.
_MAX_CLAIM_CHARACTERS: Final = 1_000
_MAX_PREMISE_CHARACTERS: Final = 8_000
_TYPES: Final = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
# What the labels of published models are called.
_LABELS: Final = {
    **dict.fromkeys(("entailment", "entailed", "entails", "supported", "supports", "consistent"), Label.ENTAILMENT),
    **dict.fromkeys(("contradiction", "contradicted", "contradicts", "refuted", "refutes"), Label.CONTRADICTION),
    **dict.fromkeys(("neutral", "not_enough_info", "nei"), Label.NEUTRAL),
}


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model that is ready; `labels` by place of the output, one None for a single number."""

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    inputs: dict[str, Any]
    labels: tuple[Label | None, ...]


class OnnxEntailment:
    """Reads `model.onnx`, `tokenizer.json` and `config.json` (id2label) of a folder, as models are published.

    A single output is read as the logit of entailment; of several, `id2label` has to say which is which. Pairs are
    judged one by one: activations quantised by batch would let a verdict depend on its neighbours, and on a processor
    a batch saves no time. Loads on first use. Safe to share between threads; `threads` is for one call.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self.name = f"onnx:{folder.name}"
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._model: _Loaded | None = None

    def tokens_for(self, pair: Pair) -> int:
        """Return 0: nobody bills what this machine reads."""
        return 0

    def judge(self, pairs: Sequence[Pair], *, seconds: float) -> list[EntailmentVerdict | None]:
        """Return a verdict for each pair, None for those that the time didn't reach. Raises: EntailmentUnavailable."""
        if not pairs:
            return []
        deadline = time.monotonic() + seconds
        model = self._loaded()
        found: list[EntailmentVerdict | None] = []
        for pair in pairs:
            found.append(None if time.monotonic() >= deadline else _verdict(model, pair))
        return found

    def _loaded(self) -> _Loaded:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load(self._folder, self._threads)
        return self._model


def _verdict(model: _Loaded, pair: Pair) -> EntailmentVerdict:
    encoding = model.tokenizer.encode(
        _text(pair.premise, _MAX_PREMISE_CHARACTERS), _text(pair.claim, _MAX_CLAIM_CHARACTERS)
    )
    columns = {
        "input_ids": encoding.ids,
        "attention_mask": [1] * len(encoding.ids),
        "token_type_ids": encoding.type_ids,
    }
    try:
        outputs = model.session.run(
            None, {name: np.array([columns[name]], kind) for name, kind in model.inputs.items()}
        )
        logits = [float(value) for value in np.asarray(outputs[0], np.float64).reshape(-1)]
    except Exception as fault:  # the runtime has no common class for what it raises
        raise EntailmentUnavailable(f"The entailment model failed ({type(fault).__name__}).") from fault
    if len(logits) != len(model.labels) or not all(math.isfinite(value) for value in logits):
        raise EntailmentUnavailable(
            f"The entailment model gave {len(logits)} numbers, its {CONFIG} names {len(model.labels)}."
        )
    if len(logits) == 1:
        return EntailmentVerdict(1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logits[0])))))
    highest = max(logits)
    parts = [math.exp(value - highest) for value in logits]
    likeliest = model.labels[parts.index(max(parts))]
    chance = sum(part for part, label in zip(parts, model.labels, strict=True) if label is Label.ENTAILMENT) / sum(
        parts
    )
    return EntailmentVerdict(min(1.0, chance), likeliest)


def _text(text: str, longest: int) -> str:
    # Halves of surrogate pairs are no text to the tokenizer.
    return text[:longest].encode(errors="replace").decode()


def _load(folder: Path, threads: int) -> _Loaded:
    # Imported late: whoever only asks for the name needs no runtime.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    # Idle threads of the pool would spin and take the processor from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        # Its thread pool does not survive a fork, and workers fork; the library takes this from nowhere else.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        session = onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # neither library has a common class for what it raises
        raise EntailmentUnavailable(
            f"The entailment model in {folder} can't be loaded ({type(fault).__name__}).",
            detail={"folder": str(folder)},
        ) from fault
    config = _config(folder / CONFIG)
    tokenizer.no_padding()
    positions = config.get("max_position_embeddings")
    tokenizer.enable_truncation(min(_MAX_TOKENS, positions) if isinstance(positions, int) else _MAX_TOKENS)
    return _Loaded(tokenizer, session, _inputs(session), _labels(session, config))


def _inputs(session: onnxruntime.InferenceSession) -> dict[str, Any]:
    """Return the number type of each input by its name. Raises: EntailmentUnavailable for one that we can't fill."""
    found = {}
    for wanted in session.get_inputs():
        if wanted.name not in ("input_ids", "attention_mask", "token_type_ids") or wanted.type not in _TYPES:
            raise EntailmentUnavailable(
                f"The entailment model wants {wanted.name} as {wanted.type}, which no text has."
            )
        found[wanted.name] = _TYPES[wanted.type]
    return found


def _config(path: Path) -> dict[str, Any]:
    try:
        config = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, orjson.JSONDecodeError) as fault:
        raise EntailmentUnavailable(f"{path} can't be read ({type(fault).__name__}).") from fault
    if not isinstance(config, dict):
        raise EntailmentUnavailable(f"{path} is no JSON object.")
    return config


def _labels(session: onnxruntime.InferenceSession, config: dict[str, Any]) -> tuple[Label | None, ...]:
    """Return what each place of the output stands for; a place that stands for no entailment may have no name.

    Models order their labels differently, so that without names nothing can be read from several outputs.
    """
    shape = session.get_outputs()[0].shape
    width = shape[-1] if shape and isinstance(shape[-1], int) else None
    named = config.get("id2label")
    names = named if isinstance(named, dict) else {}
    if (width or len(names)) == 1:
        return (None,)
    if sorted(names) != sorted(str(place) for place in range(len(names))):
        names = {}
    labels = tuple(_LABELS.get(str(names[str(place)]).strip().lower()) for place in range(len(names)))
    if labels.count(Label.ENTAILMENT) != 1 or (width is not None and width != len(labels)):
        raise EntailmentUnavailable(
            f"{CONFIG} beside the entailment model has to say in id2label which of its outputs is entailment."
        )
    return labels
