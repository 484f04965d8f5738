"""Whatever an embedding endpoint does, the caller sees vectors or one of our errors, and never the key."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import numpy as np
import pytest

from core.errors import UpstreamTimedOut, UpstreamUnavailable
from feedback.clients.embedders.openai_compatible import OpenAICompatibleEmbedder

KEY = "sk-secret"
Handler = Callable[[httpx2.Request], httpx2.Response]


def embedder(handler: Handler) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder(
        base_url="https://models.test/v1/",
        api_key=KEY,
        model="tiny",
        dimensions=2,
        transport=httpx2.MockTransport(handler),
    )


def vectors_by_length(request: httpx2.Request) -> httpx2.Response:
    texts = json.loads(request.content)["input"]
    data = [{"index": i, "embedding": [float(len(text)), 0.5]} for i, text in enumerate(texts)]
    return httpx2.Response(200, json={"data": data[::-1]})


def test_vectors_are_put_in_order_and_scaled() -> None:
    texts = ["a" * n for n in range(1, 150)]

    rows = embedder(vectors_by_length).encode_passages(texts)

    expected = np.array([[n, 0.5] for n in range(1, 150)])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)


def test_request_has_key_model_and_at_most_64_texts() -> None:
    seen: list[httpx2.Request] = []

    def record(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return vectors_by_length(request)

    embedder(record).encode_passages(["text"] * 65)

    assert [len(json.loads(request.content)["input"]) for request in seen] == [64, 1]
    assert {str(request.url) for request in seen} == {"https://models.test/v1/embeddings"}
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(seen[0].content)["model"] == "tiny"


def test_blank_texts_are_not_sent() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError("nothing was to be sent")

    assert embedder(refuse).encode_passages(["", " "]).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def timing_out(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadTimeout("slow", request=request)


def test_timeout_is_told_apart() -> None:
    with pytest.raises(UpstreamTimedOut) as fault:
        embedder(timing_out).encode_query("text")

    assert KEY not in str(fault.value)


def refused(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError(f"refused {KEY}", request=request)


@pytest.mark.parametrize(
    "handler",
    [
        refused,
        lambda _: httpx2.Response(401, text=KEY),
        lambda _: httpx2.Response(429),
        lambda _: httpx2.Response(500, text="trace"),
        lambda _: httpx2.Response(302, headers={"location": "https://elsewhere.test/"}),
        lambda _: httpx2.Response(200, text="<html>"),
        lambda _: httpx2.Response(200, content=b"\xff\xfe{"),
        lambda _: httpx2.Response(200, json=[]),
        lambda _: httpx2.Response(200, json={"data": None}),
        lambda _: httpx2.Response(200, json={"data": []}),
        lambda _: httpx2.Response(200, json={"data": [{"index": 0}]}),
        lambda _: httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]}),
        lambda _: httpx2.Response(200, json={"data": [{"index": 0, "embedding": ["a", "b"]}]}),
        lambda _: httpx2.Response(200, text='{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}'),
    ],
)
def test_every_other_fault_is_unavailable(handler: Handler) -> None:
    with pytest.raises(UpstreamUnavailable) as fault:
        embedder(handler).encode_query("text")

    assert fault.value.error_code == "embedder_unavailable"
    assert KEY not in f"{fault.value}{fault.value.detail}"
    assert fault.value.__cause__ is None
