"""`verify` reads claims with their evidence and needs nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from core.configuration import PROJECT_ROOT
from tests.commands import environment, in_a_process


def _lines(*items):
    return "".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items)


def test_each_line_gets_its_verdict_and_span(manage):
    evidence = ["The soup was fine.", "They said that the tea was cold."]

    done = manage(
        "verify",
        "-",
        stdin=_lines(
            {"id": 1, "claim": "The tea was cold.", "evidence": evidence},
            {"id": "b", "claim": "Nobody waited.", "evidence": "I waited for four hours."},
        ),
    )

    held, denied = done.lines
    assert (held["id"], held["supported"], held["reason"]) == (1, True, None)
    span = held["span"]
    assert evidence[span["evidence"]][span["start"] : span["end"]].endswith("tea was cold.")
    assert (denied["id"], denied["supported"]) == ("b", False)
    assert denied["reason"]


def test_no_evidence_supports_nothing(manage):
    done = manage("verify", "-", stdin=_lines({"id": 1, "claim": "The tea was cold.", "evidence": []}))

    assert (done.lines[0]["supported"], done.lines[0]["span"]) == (False, None)


def test_a_file_is_read_with_its_byte_order_mark(manage, tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + _lines({"id": 1, "claim": "Cold.", "evidence": "Cold."}, "").encode())

    assert manage("verify", path).lines[0]["supported"]


@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        "[1]",
        "null",
        {"claim": "Cold.", "evidence": "Cold."},
        {"id": True, "claim": "Cold.", "evidence": "Cold."},
        {"id": 1, "claim": " ", "evidence": "Cold."},
        {"id": 1, "claim": 7, "evidence": "Cold."},
        {"id": 1, "claim": "Cold."},
        {"id": 1, "claim": "Cold.", "evidence": [7]},
        {"id": 1, "claim": "Cold.", "evidence": {"text": "Cold."}},
    ],
)
def test_a_bad_line_is_told_with_its_number(manage, line):
    done = manage("verify", "-", stdin=_lines({"id": 0, "claim": "Cold.", "evidence": "Cold."}, line))

    assert (done.status, done.out) == (2, "")
    assert "Line 2" in done.complaint


def test_a_missing_file_is_named(manage, tmp_path):
    done = manage("verify", tmp_path / "absent.jsonl")

    assert done.status == 2
    assert "absent.jsonl" in done.complaint


def test_it_works_while_the_database_is_away():
    done = in_a_process(
        "verify", "-", env=environment(), stdin=_lines({"id": 1, "claim": "Cold.", "evidence": "Cold."}).encode()
    )

    assert (done.status, done.err) == (0, "")
    assert done.document["supported"]


def test_a_reader_that_has_read_enough_ends_it_quietly():
    lines = _lines(*({"id": number, "claim": "Cold.", "evidence": "Cold."} for number in range(2_000)))
    words = [sys.executable, "manage.py", "verify", "-"]

    with subprocess.Popen(
        words,
        cwd=PROJECT_ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        process.stdin.write(lines.encode())
        process.stdin.close()
        complaint = process.stderr.read()

    assert (process.returncode, complaint) == (128 + signal.SIGPIPE, b"")
