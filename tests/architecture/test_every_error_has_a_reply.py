"""Whatever kind of error is raised, each door knows what to answer."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from core import errors
from tests.architecture.source_tree import PACKAGES
from wisdom_project.error_mapping import ERROR_MAP, UNEXPECTED, reply_for


def _kinds() -> list[type[errors.WisdomError]]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if "migrations" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    found: list[type[errors.WisdomError]] = []
    waiting = [errors.WisdomError]
    while waiting:
        below = waiting.pop().__subclasses__()
        found += below
        waiting += below
    # A leading underscore: what kinds share, never raised itself. A test may have made some of its own.
    return [kind for kind in found if not kind.__name__.startswith("_") and kind.__module__.split(".")[0] in PACKAGES]


def test_every_kind_has_a_row_in_the_table():
    without = [kind for kind in _kinds() if reply_for(kind.__new__(kind)) is UNEXPECTED]

    assert without == []


def test_every_kind_has_a_code_of_its_own_name():
    codes = [kind.code for kind in _kinds()]

    assert "error" not in codes


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (errors.InvalidInput, 422, "BAD_USER_INPUT"),
        (errors.NotAuthenticated, 401, "UNAUTHENTICATED"),
        (errors.Forbidden, 403, "FORBIDDEN"),
        (errors.NotFound, 404, "NOT_FOUND"),
        (errors.Conflict, 409, "CONFLICT"),
        (errors.RateLimited, 429, "RATE_LIMITED"),
        (errors.QuotaExhausted, 429, "QUOTA_EXHAUSTED"),
        (errors.UpstreamUnavailable, 503, "UPSTREAM"),
        (errors.UpstreamTimedOut, 504, "UPSTREAM"),
    ],
)
def test_the_kinds_are_answered_as_promised(kind, status, code):
    reply = ERROR_MAP[kind]

    assert (reply.http, reply.graphql) == (status, code)


def test_a_kind_below_another_is_answered_like_it():
    class MisspeltFilter(errors.InvalidInput):
        code = "misspelt"

    assert reply_for(MisspeltFilter("no")).http == 422


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), errors.WisdomError("a kind that nobody mapped")])
def test_what_nobody_foresaw_is_internal(error):
    assert reply_for(error) is UNEXPECTED
