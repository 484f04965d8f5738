"""Put a scripted drafter and a scripted entailment model in the place of the real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from answering import opinions, saga
from answering.domain.claims import Claim, Draft
from tests.answering.scripts import RECORD, statement


@pytest.fixture
def drafted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the function that lets the saga draft these statements on RECORD, or what a function makes of the evidence."""

    def script(*said: str, of: Callable[[Any], tuple[Claim, ...]] | None = None) -> None:
        def draft_step(run: saga.Progress) -> dict[str, Any]:
            source = next(each for each in run.evidence if each.document_id == RECORD)
            claims = of(run.evidence) if of else tuple(statement(n, text, source) for n, text in enumerate(said, 1))
            run.draft = Draft(claims, "scripted")
            return {"claims": len(claims)}

        steps = tuple((name, draft_step if name == "draft" else step) for name, step in saga.STEPS)
        monkeypatch.setattr(saga, "STEPS", steps)

    return script


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give the function that puts a model into use, and says whose verdict counts."""

    def choose(model: Any, *, decides: str = "report") -> Any:
        from django.conf import settings

        monkeypatch.setattr(opinions, "get_entailment", lambda wisdom: model)
        chosen = settings.WISDOM.model_copy(update={"entailment_decides": decides})
        monkeypatch.setattr(settings, "WISDOM", chosen)
        return model

    return choose
