"""Choose the floor of support from claims that people have labelled, and say what it costs.

A calibration is made for a kind of text: floors transfer badly from long articles to short comments.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from statistics import NormalDist, median
from typing import Any, Final

from answering.domain.grounding.verdicts import CHECKER_VERSION, Verdict

FEWEST_CLAIMS: Final = 20
_CURVE_POINTS: Final = 21
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class ScoredClaim:
    """A labelled claim with what the checker made of it.

    `overlap` is in [0, 1]; one with a conflict is rejected at any floor. Rows with one `claim` are one claim beside
    several texts: it counts as its best row, and as supported when any of its rows is. Claims of one `group` (of one
    article, one talk) are never on both sides of a cross-fit.
    """

    claim: str
    group: str
    overlap: float
    has_conflict: bool
    support: float
    is_supported: bool
    characters: int = 0


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What a floor does to the labelled claims; shares in [0, 1].

    `unsupported_accepted`: of the unsupported claims, those accepted. `supported_rejected`: of the supported, those
    rejected. `risk`: of the accepted, those unsupported; `risk_at_most` its upper bound at 95 %. `answer_rate`: of all
    claims, those accepted.
    """

    floor: float
    unsupported_accepted: float
    supported_rejected: float
    risk: float
    risk_at_most: float
    answer_rate: float

    @property
    def balanced_accuracy(self) -> float:
        """Return the mean of the shares that are judged rightly of either kind."""
        return 1 - (self.unsupported_accepted + self.supported_rejected) / 2


@dataclass(frozen=True, slots=True)
class Calibration:
    """A floor with where it came from; `version` names its content.

    `evidence_characters` is the middling length of the labelled claims' evidence: the floor is for text of about that
    length. `chances` are (support, chance that the claim is supported) in rising order of both. `max_risk` or `max_rejected` is what
    the curator chose, neither for the floor of the best balanced accuracy.
    """

    version: str
    made_from: tuple[str, ...]
    data_sha256: str
    checker: str
    evidence_characters: int
    claims: int
    supported: int
    max_risk: float | None
    max_rejected: float | None
    chosen: OperatingPoint
    auc: float
    cross_fitted_balanced_accuracy: float
    curve: tuple[OperatingPoint, ...]
    chances: tuple[tuple[float, float], ...]

    @property
    def floor(self) -> float:
        """Return the least support of a claim that may be shown."""
        return self.chosen.floor

    def chance(self, support: float) -> float:
        """Return the chance that a claim of this support is right, by the labelled claims; linear between points."""
        points = self.chances
        if support <= points[0][0]:
            return points[0][1]
        for (low, below), (high, above) in pairwise(points):
            if support <= high:
                return below + (above - below) * (support - low) / (high - low) if high > low else above
        return points[-1][1]

    def as_json(self) -> dict[str, Any]:
        """Return the content of a calibration file."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Calibration:
        """Read the content of a calibration file.

        Raises: ValueError when it isn't one, or holds numbers out of range.
        """
        try:
            point = OperatingPoint(**content["chosen"])
            read = cls(
                **{
                    **content,
                    "made_from": tuple(content["made_from"]),
                    "chosen": point,
                    "curve": tuple(OperatingPoint(**each) for each in content["curve"]),
                    "chances": tuple((float(support), float(chance)) for support, chance in content["chances"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no calibration: {error}") from error
        if not 0 <= point.floor <= 1 or not read.chances:
            raise ValueError(f"this is no calibration: its floor is {point.floor}, its chances are {len(read.chances)}")
        return read


class TooFewClaims(ValueError):
    """The labelled claims can't carry a calibration."""


class NoSuchFloor(ValueError):
    """No floor keeps the risk that was asked for."""


def scored(verdict: Verdict, *, claim: str, group: str, is_supported: bool, characters: int) -> ScoredClaim:
    """Put a verdict beside its label; `characters` is the length of the evidence."""
    return ScoredClaim(claim, group, verdict.overlap, verdict.has_conflict, verdict.support, is_supported, characters)


def nearest(calibrations: Sequence[Calibration], characters: int) -> Calibration:
    """Return the calibration that was made beside text of about this length, by ratio."""
    return min(
        calibrations,
        key=lambda each: abs(math.log(max(1, each.evidence_characters)) - math.log(max(1, characters))),
    )


def by_claim(rows: Iterable[ScoredClaim]) -> list[ScoredClaim]:
    """Join the rows of each claim: the best one counts."""
    best: dict[str, ScoredClaim] = {}
    for row in rows:
        known = best.get(row.claim)
        if known is None:
            best[row.claim] = row
            continue
        better = max(known, row, key=lambda each: (not each.has_conflict, each.overlap))
        best[row.claim] = replace(
            better,
            support=max(known.support, row.support),
            is_supported=known.is_supported or row.is_supported,
        )
    return list(best.values())


def calibrate(
    rows: Iterable[ScoredClaim],
    *,
    made_from: Sequence[str],
    data_sha256: str,
    max_risk: float | None = None,
    max_rejected: float | None = None,
) -> Calibration:
    """Choose a floor by labelled claims.

    With `max_risk` the lowest floor at which at most that share of the accepted claims is unsupported; with
    `max_rejected` the highest one that rejects at most that share of the supported claims; else the floor of the best
    balanced accuracy.
    Raises: TooFewClaims, NoSuchFloor.
    """
    claims = by_claim(rows)
    supported = sum(claim.is_supported for claim in claims)
    if min(supported, len(claims) - supported) < FEWEST_CLAIMS:
        raise TooFewClaims(
            f"{supported} supported and {len(claims) - supported} unsupported claims are too few: "
            f"a calibration needs {FEWEST_CLAIMS} of each"
        )
    points = operating_points(claims)
    chosen = choose(points, max_risk=max_risk, max_rejected=max_rejected)
    made = Calibration(
        version="",
        made_from=tuple(made_from),
        data_sha256=data_sha256,
        checker=CHECKER_VERSION,
        evidence_characters=round(median(claim.characters for claim in claims)),
        claims=len(claims),
        supported=supported,
        max_risk=max_risk,
        max_rejected=max_rejected,
        chosen=chosen,
        auc=round(area_under_curve(claims), 4),
        cross_fitted_balanced_accuracy=round(cross_fitted_balanced_accuracy(claims), 4),
        curve=tuple(_evenly(points, _CURVE_POINTS)),
        chances=_chances(claims),
    )
    content = json.dumps(made.as_json(), sort_keys=True, default=str)
    return replace(made, version=f"g{hashlib.sha256(content.encode()).hexdigest()[:10]}")


def operating_points(claims: Sequence[ScoredClaim]) -> list[OperatingPoint]:
    """Return the point of each floor that makes a difference, in rising order of floors."""
    floors = sorted({0.0, *(round(claim.overlap, 4) for claim in claims if not claim.has_conflict), 1.0})
    accepting = sorted(claim.overlap for claim in claims if claim.is_supported and not claim.has_conflict)
    mistaking = sorted(claim.overlap for claim in claims if not claim.is_supported and not claim.has_conflict)
    supported = sum(claim.is_supported for claim in claims)
    unsupported = len(claims) - supported
    points = []
    for floor in floors:
        right = len(accepting) - bisect_left(accepting, floor - 1e-9)
        wrong = len(mistaking) - bisect_left(mistaking, floor - 1e-9)
        points.append(
            OperatingPoint(
                floor=floor,
                unsupported_accepted=round(wrong / unsupported, 4) if unsupported else 0.0,
                supported_rejected=round(1 - right / supported, 4) if supported else 0.0,
                risk=round(wrong / (right + wrong), 4) if right + wrong else 0.0,
                risk_at_most=round(_upper_bound(wrong, right + wrong), 4),
                answer_rate=round((right + wrong) / len(claims), 4),
            )
        )
    return points


def choose(
    points: Sequence[OperatingPoint], *, max_risk: float | None = None, max_rejected: float | None = None
) -> OperatingPoint:
    """Choose the point of the best balanced accuracy, the lowest floor that keeps the risk, or the highest that rejects
    no more.

    What a conflict rejects, no floor lets in: `max_rejected` is of what the floor itself rejects.
    Raises: NoSuchFloor, naming the least risk that can be had.
    """
    answering = [point for point in points if point.answer_rate > 0]
    if max_rejected is not None:
        in_any_case = points[0].supported_rejected
        kept = [p for p in points if p.supported_rejected - in_any_case <= max_rejected + 1e-9]
        return max(kept, key=lambda point: point.floor)
    if max_risk is None:
        return max(points, key=lambda point: (point.balanced_accuracy, point.floor))
    kept = [point for point in answering if point.risk <= max_risk]
    if not kept:
        least = min((point.risk for point in answering), default=1.0)
        raise NoSuchFloor(
            f"no floor keeps unsupported claims to {max_risk:.1%} of those accepted; the least here is {least:.1%}"
        )
    return min(kept, key=lambda point: point.floor)


def cross_fitted_balanced_accuracy(claims: Sequence[ScoredClaim]) -> float:
    """Judge each half of the claims, split by group, with the floor of the other half; return the mean."""
    halves: list[list[ScoredClaim]] = [[], []]
    for claim in claims:
        halves[zlib.crc32(claim.group.encode()) % 2].append(claim)
    results = []
    for fitted, judged in (halves, halves[::-1]):
        floor = choose(operating_points(fitted)).floor if fitted else 0.0
        results.append(_balanced(judged, floor))
    return sum(results) / len(results)


def area_under_curve(claims: Sequence[ScoredClaim]) -> float:
    """Return the chance that a supported claim has more support than an unsupported one; ties count half."""
    unsupported = sorted(claim.support for claim in claims if not claim.is_supported)
    supported = [claim.support for claim in claims if claim.is_supported]
    if not supported or not unsupported:
        return 0.5
    above = sum((bisect_left(unsupported, s) + bisect_right(unsupported, s)) / 2 for s in supported)
    return above / len(supported) / len(unsupported)


def _balanced(claims: Sequence[ScoredClaim], floor: float) -> float:
    shares = []
    for kind in (True, False):
        judged = [
            (claim.overlap >= floor - 1e-9 and not claim.has_conflict) is kind
            for claim in claims
            if claim.is_supported is kind
        ]
        shares.append(sum(judged) / len(judged) if judged else 0.5)
    return sum(shares) / 2


def _chances(claims: Sequence[ScoredClaim]) -> tuple[tuple[float, float], ...]:
    """Fit the chance of being supported to support: isotonic regression by pooling adjacent violators.

    Each claim counts as one more of the average, so that few claims promise no certainty.
    Source: Barlow et al., Statistical Inference under Order Restrictions, 1972.
    """
    prior = sum(claim.is_supported for claim in claims) / len(claims)
    blocks: list[list[float]] = []
    for claim in sorted(claims, key=lambda each: each.support):
        blocks.append([claim.support, float(claim.is_supported), 1.0])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            _, right, size = blocks.pop()
            blocks[-1][1] += right
            blocks[-1][2] += size
    points: list[tuple[float, float]] = []
    for support, right, size in blocks:
        chance = (right + prior) / (size + 1)
        points.append((round(support, 4), round(max(chance, points[-1][1] if points else 0.0), 4)))
    return tuple(points)


def _upper_bound(wrong: int, accepted: int) -> float:
    """Return the upper end of Wilson's score interval of a share, at 95 % to one side.

    Source: Wilson, Journal of the American Statistical Association, 1927.
    """
    if not accepted:
        return 0.0
    z = NormalDist().inv_cdf(_CONFIDENCE)
    share = wrong / accepted
    middle = share + z * z / (2 * accepted)
    spread = z * (share * (1 - share) / accepted + z * z / (4 * accepted * accepted)) ** 0.5
    return float(min(1.0, (middle + spread) / (1 + z * z / accepted)))


def _evenly(points: Sequence[OperatingPoint], count: int) -> Iterable[OperatingPoint]:
    if len(points) <= count:
        return points
    return [points[round(i * (len(points) - 1) / (count - 1))] for i in range(count)]
