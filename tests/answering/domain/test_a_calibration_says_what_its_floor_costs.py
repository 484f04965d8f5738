"""A floor is chosen by labelled claims, for a risk or for an answer rate, and its cost is said."""

import json

import pytest

from answering.domain.grounding.calibration import (
    Calibration,
    NoSuchFloor,
    ScoredClaim,
    TooFewClaims,
    by_claim,
    calibrate,
    nearest,
    operating_points,
)


def scored(overlap: float, is_supported: bool, *, claim: str = "", has_conflict: bool = False) -> ScoredClaim:
    name = claim or f"{overlap}-{is_supported}-{has_conflict}"
    return ScoredClaim(name, name, overlap, has_conflict, overlap, is_supported, 200)


# Supported claims overlap by 0.41 to 0.90, unsupported ones by 0.11 to 0.60: the floor decides over what lies between.
CLAIMS = [scored(0.41 + i / 100, True) for i in range(50)] + [scored(0.11 + i / 100, False) for i in range(50)]


def made(**options: float) -> Calibration:
    return calibrate(CLAIMS, made_from=["claims.jsonl"], data_sha256="00", **options)


def test_without_a_wish_both_kinds_are_judged_rightly_as_often() -> None:
    calibration = made()

    assert 0.41 <= calibration.floor <= 0.61
    assert calibration.chosen.balanced_accuracy == max(p.balanced_accuracy for p in operating_points(CLAIMS))
    assert calibration.auc > 0.9


def test_a_risk_is_kept_and_its_answer_rate_said() -> None:
    careful, careless = made(max_risk=0.0), made(max_risk=0.3)

    assert careful.chosen.risk == 0.0
    assert careful.floor > careless.floor
    assert careful.chosen.answer_rate < careless.chosen.answer_rate
    assert careful.chosen.risk_at_most > 0  # fifty claims promise no certainty


def test_a_floor_can_be_chosen_by_what_it_rejects() -> None:
    calibration = made(max_rejected=0.1)

    assert calibration.chosen.supported_rejected == pytest.approx(0.1, abs=0.021)


def test_what_a_conflict_rejects_no_floor_lets_in() -> None:
    claims = [*CLAIMS, *(scored(0.9 + i / 1000, True, has_conflict=True) for i in range(50))]

    points = operating_points(claims)

    assert points[0].floor == 0
    assert points[0].supported_rejected == 0.5


def test_the_rows_of_a_claim_count_once_by_the_best() -> None:
    rows = [
        scored(0.2, False, claim="a"),
        scored(0.8, True, claim="a"),
        scored(0.9, False, claim="a", has_conflict=True),
    ]

    (claim,) = by_claim(rows)

    assert claim.overlap == 0.8
    assert claim.is_supported


def test_the_chance_rises_with_support_and_is_never_certain() -> None:
    calibration = made()
    chances = [calibration.chance(i / 50) for i in range(51)]

    assert chances == sorted(chances)
    assert 0 < chances[0] < 0.2
    assert 0.8 < chances[-1] < 1


def test_equal_claims_give_equal_versions() -> None:
    assert made() == made()
    assert made().version != made(max_risk=0.1).version


def test_a_calibration_survives_its_file() -> None:
    calibration = made()

    assert Calibration.from_json(json.loads(json.dumps(calibration.as_json()))) == calibration


@pytest.mark.parametrize(
    "content", [{}, {"version": "x"}, {**made().as_json(), "chosen": {"floor": 2}}, {**made().as_json(), "chances": []}]
)
def test_another_file_is_refused(content: dict) -> None:
    with pytest.raises(ValueError, match="calibration"):
        Calibration.from_json(content)


def test_too_few_claims_carry_none() -> None:
    with pytest.raises(TooFewClaims, match="needs 20 of each"):
        calibrate(CLAIMS[:60], made_from=["few.jsonl"], data_sha256="00")


def test_a_risk_that_no_floor_keeps_is_named() -> None:
    upside_down = [scored(c.overlap, not c.is_supported) for c in CLAIMS]

    with pytest.raises(NoSuchFloor, match="the least here is"):
        calibrate(upside_down, made_from=["x.jsonl"], data_sha256="00", max_risk=0.01)


def test_the_nearer_length_is_used() -> None:
    short = made()
    long = calibrate(
        [ScoredClaim(c.claim, c.group, c.overlap, False, c.support, c.is_supported, 2_000) for c in CLAIMS],
        made_from=["long.jsonl"],
        data_sha256="00",
    )

    assert nearest([short, long], 150) is short
    assert nearest([short, long], 5_000) is long
