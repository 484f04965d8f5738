"""A real entailment model of a few kilobytes: it counts the words of the claim that the text lacks.

The graph is written in the ONNX wire format by hand, since the library that does it is no dependency of ours. Every
claim word that the text doesn't hold takes entailment down; a "not" that the text lacks means contradiction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = "the delivery was late early not courier came two weeks refund arrived never kettle broke".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = {word: place for place, word in enumerate([*SPECIAL, *WORDS])}
LABELS = ("contradiction", "neutral", "entailment")
_FLOAT, _INT32, _INT64 = 1, 6, 7


def write_model(
    folder: Path,
    *,
    labels: Sequence[str] | None = LABELS,
    outputs: Sequence[str] = LABELS,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    input_type: int = _INT64,
    config: dict[str, Any] | None = None,
) -> Path:
    """Write the folder of a model with these outputs, each "contradiction", "neutral", "entailment" or "score".

    `labels` are what config.json calls them; None leaves the file out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model(outputs, inputs, input_type))
    _tokenizer().save(str(folder / "tokenizer.json"))
    if labels is not None:
        named = {"id2label": {str(place): label for place, label in enumerate(labels)}}
        (folder / "config.json").write_text(json.dumps({**named, **(config or {})}))
    return folder


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", VOCABULARY["[CLS]"]), ("[SEP]", VOCABULARY["[SEP]"])],
    )
    return tokenizer


def _model(outputs: Sequence[str], inputs: Sequence[str], input_type: int) -> bytes:
    size = len(VOCABULARY)
    own = np.eye(size, dtype=np.float32)
    for word in ("[PAD]", "[CLS]", "[SEP]"):
        own[VOCABULARY[word]] = 0
    weights = np.zeros((size, len(outputs)), np.float32)
    bias = np.zeros(len(outputs), np.float32)
    for place, output in enumerate(outputs):
        if output in ("entailment", "score"):
            weights[:, place], bias[place] = -4, 3
        elif output == "contradiction":
            weights[VOCABULARY["not"], place], bias[place] = 8, -2
    initializers = [
        _tensor("own", own),
        _tensor("weights", weights),
        _tensor("bias", bias),
        _tensor("two", np.array(2, np.float32)),
        _tensor("one", np.array(1, np.float32)),
        _tensor("last", np.array([2], np.int64)),
        _tensor("middle", np.array([1], np.int64)),
    ]
    # Claim words count +1 and words of the text -1: what is left above 0 is what the text lacks.
    nodes = [
        _node("Gather", ["own", "input_ids"], "vectors"),
        _node("Cast", ["token_type_ids"], "types", _integer("to", _FLOAT)),
        _node("Mul", ["types", "two"], "doubled"),
        _node("Sub", ["doubled", "one"], "signs"),
        _node("Unsqueeze", ["signs", "last"], "columns"),
        _node("Mul", ["vectors", "columns"], "signed"),
        _node("ReduceSum", ["signed", "middle"], "balance", _integer("keepdims", 0)),
        _node("Relu", ["balance"], "lacking"),
        _node("MatMul", ["lacking", "weights"], "weighed"),
        _node("Add", ["weighed", "bias"], "logits"),
    ]
    graph = (
        b"".join(_field(1, node) for node in nodes)
        + _field(2, b"tiny")
        + b"".join(_field(5, tensor) for tensor in initializers)
        + b"".join(_field(11, _value(name, input_type, ["batch", "tokens"])) for name in inputs)
        + _field(12, _value("logits", _FLOAT, ["batch", len(outputs)]))
    )
    return _number(1, 8) + _field(8, _field(1, b"") + _number(2, 13)) + _field(7, graph)


def _varint(value: int) -> bytes:
    found = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        found.append(low | (0x80 if value else 0))
        if not value:
            return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _tensor(name: str, values: Any) -> bytes:
    kind = _FLOAT if values.dtype == np.float32 else _INT64
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, kind) + _field(8, name.encode()) + _field(9, values.tobytes())


def _integer(name: str, value: int) -> bytes:
    return _field(1, name.encode()) + _number(3, value) + _number(20, 2)


def _node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    return (
        b"".join(_field(1, name.encode()) for name in inputs)
        + _field(2, output.encode())
        + _field(4, kind.encode())
        + b"".join(_field(5, attribute) for attribute in attributes)
    )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(
        _field(1, _number(1, size) if isinstance(size, int) else _field(2, size.encode())) for size in shape
    )
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, dims)))
