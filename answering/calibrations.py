"""The calibration of the checker in use: the installed file's, or one that a corpus was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from answering.domain.grounding import Calibration
from core.errors import InvalidInput

if TYPE_CHECKING:
    from feedback.models import Corpus

BUNDLED: Final = Path(__file__).with_name("grounding_calibration.json")
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


def installed_calibration() -> Calibration:
    """Return the calibration that `WA_GROUNDING_CALIBRATION` names, else the bundled one; read once a process."""
    return _kept(settings.WISDOM.grounding_calibration or BUNDLED)


def calibration_of(corpus: Corpus) -> Calibration:
    """Return the corpus's own calibration, else the installed one."""
    own: Mapping[str, Any] | None = corpus.options.get(OPTION)
    return Calibration.from_json(own) if own else installed_calibration()


def support_floor(corpus: Corpus | None = None) -> float:
    """Return the least support of a claim: the corpus's threshold, its calibration's, the setting, the installed one's."""
    if corpus is not None:
        if "min_support" in corpus.thresholds:
            return float(corpus.thresholds["min_support"])
        if corpus.options.get(OPTION):
            return calibration_of(corpus).floor
    chosen: float | None = settings.WISDOM.min_support
    return installed_calibration().floor if chosen is None else chosen
