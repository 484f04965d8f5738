"""Choose the checker's floor by labelled claims, for a risk, and say what it costs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from answering.domain.grounding import Calibration, OperatingPoint
from answering.management.labelled_lines import read_labelled
from answering.verification import LabelledClaim, calibrate_by, give_calibration
from core.batch_lines import read_batch
from core.commands import WisdomCommand, readable_text
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus
from tenants.selectors import get_tenant


def share(value: str) -> float:
    """Read a share such as 0.02 or 2%: for argparse's `type`."""
    try:
        number = float(value.rstrip("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no share: give one such as 0.02 or 2%")
    return number


class Command(WisdomCommand):
    help = (
        "Pick the least support of a claim by labelled claims; print the curve and write a versioned calibration. "
        "With --apply the corpus is judged by it from then on."
    )
    touches_database = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "files",
            nargs="+",
            metavar="FILE",
            type=readable_text,
            help='lines of {"id", "claim", "evidence", "label", "group"?, "lang"?}; label 1 is supported, rows of one'
            " group are one claim",
        )
        parser.add_argument(
            "--max-unsupported",
            metavar="SHARE",
            type=share,
            help="at most this share of the accepted claims may be unsupported, such as 2%%; without it the floor that"
            " judges most claims of either kind rightly",
        )
        parser.add_argument(
            "--max-rejected",
            metavar="SHARE",
            type=share,
            help="the highest floor that rejects at most this share of the supported claims, such as 5%%",
        )
        parser.add_argument("--out", metavar="FILE", type=readable_text, help="where to write the calibration")
        parser.add_argument("--corpus", type=readable_text, help="which corpus --apply is for")
        parser.add_argument("--apply", action="store_true", help="give the calibration to the corpus")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["apply"] and not options["corpus"]:
            raise InvalidInput("Say which corpus is to be judged by it: add --corpus NAME.", field="corpus")
        if options["max_unsupported"] is not None and options["max_rejected"] is not None:
            raise InvalidInput("Choose one: --max-unsupported or --max-rejected.", field="max_rejected")
        calibration = calibrate_by(
            _labelled(options["files"]),
            made_from=[Path(name).name for name in options["files"]],
            max_risk=options["max_unsupported"],
            max_rejected=options["max_rejected"],
        )
        out = _write(calibration, options["out"])
        if options["apply"]:
            tenant = get_tenant(slug=options["tenant"])
            with tenant_session(tenant):
                corpus = get_corpus(tenant=tenant, slug=options["corpus"])
            give_calibration(corpus=corpus, calibration=calibration)
        if self.as_json:
            self.document({**calibration.as_json(), "file": str(out), "applied_to": options["corpus"] or None})
            return
        for line in _report(calibration):
            self.say(line)
        self.say(f"Written to {out}")
        self.say(
            f"Corpus {options['corpus']} is judged by it from now on."
            if options["apply"]
            else "Use it: WA_GROUNDING_CALIBRATION=FILE for all corpora, or --apply --corpus NAME for one."
        )


def _labelled(names: list[str]) -> list[LabelledClaim]:
    found: list[LabelledClaim] = []
    for name in names:
        rows = read_batch(name, read_labelled)
        # Two files may use the same ids.
        found += [LabelledClaim(each.claim, each.is_supported, f"{Path(name).name}/{each.group}") for each in rows]
    return found


def _write(calibration: Calibration, out: str | None) -> Path:
    path = Path(out) if out else settings.WISDOM.state_dir / "calibrations" / f"{calibration.version}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(orjson.dumps(calibration.as_json(), option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {(error.strerror or 'failed').lower()}.", field="out") from None
    return path


def _report(calibration: Calibration) -> list[str]:
    chosen = calibration.chosen
    return [
        f"{calibration.claims:,} claims, {calibration.supported:,} of them supported, from {', '.join(calibration.made_from)}",
        f"AUC {calibration.auc:.3f}; balanced accuracy {calibration.cross_fitted_balanced_accuracy:.3f}, each half of the"
        " claims judged by the other half's floor",
        "",
        "floor   unsupported   supported   of accepted,   (at most,   claims",
        "        accepted      rejected    unsupported    at 95 %)    accepted",
        *(_line(point) for point in calibration.curve if point != chosen),
        "",
        f"Chosen, {_why(calibration)}:",
        _line(chosen),
        f"Version {calibration.version}, checker {calibration.checker}",
    ]


def _line(point: OperatingPoint) -> str:
    return (
        f"{point.floor:5.3f}   {point.unsupported_accepted:10.1%}   {point.supported_rejected:10.1%}"
        f"   {point.risk:11.1%}   {point.risk_at_most:10.1%}   {point.answer_rate:9.1%}"
    )


def _why(calibration: Calibration) -> str:
    if calibration.max_rejected is not None:
        return f"the highest floor that rejects at most {calibration.max_rejected:.1%} of the supported claims"
    if calibration.max_risk is None:
        return "for the best balanced accuracy"
    return f"the lowest floor at which at most {calibration.max_risk:.1%} of the accepted claims are unsupported"
