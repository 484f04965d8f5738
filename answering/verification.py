"""Check claims against evidence that comes with them, and calibrate the checker by labelled ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answering.calibrations import OPTION, read_calibration
from answering.domain.grounding import (
    Calibration,
    GroundingRules,
    ScoredClaim,
    Subject,
    TooFewClaims,
    Verdict,
    calibrate,
    check_claim,
    scored,
)
from answering.domain.grounding.calibration import NoSuchFloor
from core.errors import InvalidInput
from feedback.selectors.languages import language_of
from feedback.selectors.words import near_words
from feedback.services.corpora import set_option

if TYPE_CHECKING:
    from feedback.models import Corpus


# Nothing is capped below a floor of 1: the support of what fails still ranks it.
_AT_ANY_FLOOR = GroundingRules(min_support=1.0)


@dataclass(frozen=True, slots=True)
class ClaimToCheck:
    """A claim with its evidence; `language` is found out where it isn't given."""

    id: str | int
    text: str
    evidence: tuple[str, ...]
    language: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim that people have judged; equal claims of one group are one claim beside several texts."""

    claim: ClaimToCheck
    is_supported: bool
    group: str


def check(claim: ClaimToCheck, *, rules: GroundingRules) -> Verdict:
    """Judge one claim; the language is that of its evidence, which is what it has to agree with."""
    language = claim.language or language_of(" ".join(claim.evidence)[:2_000] or claim.text)
    return check_claim(
        claim.text,
        claim.evidence,
        floor=rules.floor(sum(map(len, claim.evidence))),
        language=language,
        subject=Subject(near=near_words, records=len(claim.evidence)),
    )


def check_all(claims: Iterable[ClaimToCheck], *, rules: GroundingRules) -> Iterator[tuple[ClaimToCheck, Verdict]]:
    """Judge claims in order, one at a time."""
    for claim in claims:
        yield claim, check(claim, rules=rules)


def calibrate_by(
    claims: Sequence[LabelledClaim],
    *,
    made_from: Sequence[str],
    max_risk: float | None = None,
    max_rejected: float | None = None,
) -> Calibration:
    """Choose a floor by labelled claims; see `domain.grounding.calibration`.

    Raises: InvalidInput when the claims can't carry it, or no floor keeps the risk.
    """
    digest = hashlib.sha256()
    rows: list[ScoredClaim] = []
    for each in claims:
        digest.update(repr((each.group, each.claim.text, each.claim.evidence, each.is_supported)).encode())
        rows.append(
            scored(
                check(each.claim, rules=_AT_ANY_FLOOR),
                claim=f"{each.group}\0{each.claim.text}",
                group=each.group,
                is_supported=each.is_supported,
                characters=sum(map(len, each.claim.evidence)),
            )
        )
    try:
        return calibrate(
            rows,
            made_from=made_from,
            data_sha256=digest.hexdigest(),
            max_risk=max_risk,
            max_rejected=max_rejected,
        )
    except (TooFewClaims, NoSuchFloor) as error:
        raise InvalidInput(f"{str(error)[0].upper()}{str(error)[1:]}.", field="file") from None


def give_calibration(*, corpus: Corpus, calibration: Calibration | None) -> None:
    """Give a corpus a calibration of its own; None takes it away. Answers from then on are judged by it."""
    content: dict[str, Any] | None = None
    if calibration is not None:
        # The curve is for people who choose; an answer needs the floor and the chances.
        content = {**calibration.as_json(), "curve": []}
    set_option(corpus=corpus, name=OPTION, value=content)


def load_calibration(path: Path) -> Calibration:
    """Read a calibration file. Raises: InvalidInput."""
    return read_calibration(path)
