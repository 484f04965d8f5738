"""The calibration of the checker in use: the installed file's, or one that a corpus was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from answering.domain.grounding import Calibration, GroundingRules
from core.errors import InvalidInput

if TYPE_CHECKING:
    from feedback.models import Corpus

_HERE: Final = Path(__file__).parent
# Made by manage.py calibrate_grounding, beside short comments and beside articles; `made_from` names the files.
BUNDLED: Final = (_HERE / "grounding_of_comments.json", _HERE / "grounding_of_articles.json")
OPTION: Final = "grounding_calibration"


def read_calibration(path: Path) -> Calibration:
    """Read a calibration file. Raises: InvalidInput when it can't be read or is none."""
    try:
        return Calibration.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {(error.strerror or 'unreadable').lower()}.", field="file") from None
    except ValueError as error:
        raise InvalidInput(f"{path} holds no calibration ({error}).", field="file") from None


@lru_cache(maxsize=4)
def _kept(path: Path) -> Calibration:
    return read_calibration(path)


def installed_calibrations() -> tuple[Calibration, ...]:
    """Return the calibration that `WA_GROUNDING_CALIBRATION` names, else the bundled ones; read once a process."""
    chosen = settings.WISDOM.grounding_calibration
    return tuple(_kept(path) for path in ((chosen,) if chosen else BUNDLED))


def calibrations_of(corpus: Corpus | None) -> tuple[Calibration, ...]:
    """Return the corpus's own calibration, else the installed ones."""
    own: Mapping[str, Any] | None = corpus.options.get(OPTION) if corpus is not None else None
    return (Calibration.from_json(own),) if own else installed_calibrations()


def grounding_rules(corpus: Corpus | None = None) -> GroundingRules:
    """Return the floors of the gates for a corpus.

    A claim's least support is the corpus's threshold, else its calibration's, else the setting, else that of the
    installed calibration for about that much cited text.
    """
    wisdom = settings.WISDOM
    thresholds: Mapping[str, Any] = corpus.thresholds if corpus is not None else {}
    fixed = thresholds.get("min_support")
    if fixed is None and not (corpus is not None and corpus.options.get(OPTION)):
        fixed = wisdom.min_support
    floors = () if fixed is not None else tuple((c.evidence_characters, c.floor) for c in calibrations_of(corpus))
    return GroundingRules(
        min_support=float(fixed) if fixed is not None else min(floor for _, floor in floors),
        floors=floors,
        min_groundedness=float(thresholds.get("min_groundedness", wisdom.min_groundedness)),
        min_evidence_relevance=float(thresholds.get("min_evidence_relevance", wisdom.min_evidence_relevance)),
    )
