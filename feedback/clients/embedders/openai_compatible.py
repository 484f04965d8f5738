"""Embed at an endpoint that speaks the OpenAI embeddings protocol."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import httpx2
import numpy as np

from core.errors import UpstreamTimedOut
from feedback.clients.embedders.protocol import EmbedderUnavailable, Vectors, unit_rows

TIMEOUT_SECONDS: Final = 5.0
_BATCH: Final = 64


class OpenAICompatibleEmbedder:
    """One attempt per batch of 64 with a timeout; retries, breaker and bulkhead are the caller's policy.

    The key goes into the request's header and nowhere else. Safe to share between threads.
    """

    name = "openai"

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        dimensions: int,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        if not base_url or not model or dimensions < 1:
            raise ValueError("an endpoint, a model and its dimensions are needed")
        self.dimensions = dimensions
        self.version = f"{model}:{dimensions}d"
        self._model = model
        self._url = base_url.rstrip("/") + "/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_seconds = timeout_seconds
        self._transport = transport
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def reads(self, text: str) -> bool:
        """Say yes: what the endpoint's model knows is not ours to judge."""
        return True

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text.

        Raises: UpstreamTimedOut, or EmbedderUnavailable for any other failure and for an answer that is not
        one finite vector of the right length per text.
        """
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        # Endpoints refuse blank input; it gets the same direction as with every other embedder.
        order = [i for i, text in enumerate(texts) if text.strip()]
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            rows[batch] = self._request([texts[i] for i in batch])
        return unit_rows(rows)

    def encode_query(self, text: str) -> Vectors:
        """Return the question's unit vector; raises as `encode_passages`."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector

    def _request(self, texts: list[str]) -> Vectors:
        try:
            reply = self._connected().post(self._url, json={"model": self._model, "input": texts})
            reply.raise_for_status()
            body = reply.json()
        except httpx2.TimeoutException:
            raise UpstreamTimedOut(
                f"The embedding endpoint did not answer within {self._timeout_seconds:g} s.",
                detail={"dependency": "embedder"},
            ) from None
        except httpx2.HTTPStatusError as fault:
            raise EmbedderUnavailable(
                f"The embedding endpoint answered {fault.response.status_code}.",
                detail={"dependency": "embedder", "status": fault.response.status_code},
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as fault:
            raise EmbedderUnavailable(
                "The embedding endpoint could not be reached or answered no JSON.",
                detail={"dependency": "embedder", "fault": type(fault).__name__},
            ) from None
        return self._vectors(body, len(texts))

    def _vectors(self, body: Any, expected: int) -> Vectors:
        try:
            entries = sorted(body["data"], key=lambda entry: int(entry["index"]))
            vectors = np.array([entry["embedding"] for entry in entries], np.float32)
        except (KeyError, TypeError, ValueError):
            vectors = np.empty((0, 0), np.float32)
        if vectors.shape != (expected, self.dimensions) or not np.isfinite(vectors).all():
            raise EmbedderUnavailable(
                f"The embedding endpoint did not return {expected} vectors of {self.dimensions} numbers.",
                detail={"dependency": "embedder"},
            )
        return vectors

    def _connected(self) -> httpx2.Client:
        if self._client is None:
            with self._lock:
                if self._client is None:
                    # A redirect would carry the key and the texts to a host that nobody configured.
                    self._client = httpx2.Client(
                        headers=self._headers,
                        timeout=self._timeout_seconds,
                        transport=self._transport,
                        follow_redirects=False,
                    )
        return self._client
