"""The demonstration's tenant, corpus, account and key are made once and are the same at the next start."""

from __future__ import annotations

import json
import shlex
from stat import S_IMODE

import pytest
from django.contrib.auth import get_user_model

from core.errors import Conflict
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus, vocabulary_of
from tenants.domain.access import Role
from tenants.models import ApiKey
from tests.factories import NOW, make_user
from wisdom_project import demo
from wisdom_project.management.commands.demo import QUESTION, _curl

pytestmark = pytest.mark.django_db

_FEW = 20


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    """Have the demonstration be small, and keep its secrets in a folder of the test."""
    few = tmp_path / "feedback.jsonl"
    few.write_text("".join(demo.FILE.read_text(encoding="utf-8").splitlines(keepends=True)[:_FEW]), encoding="utf-8")
    monkeypatch.setattr(demo, "FILE", few)
    monkeypatch.setattr(demo, "_place", lambda: tmp_path / "demo.json")


def _set_up():
    return demo.set_up(now=NOW, progress=lambda _: None)


def test_a_second_time_changes_nothing(tmp_path):
    first, kept = _set_up(), (tmp_path / "demo.json").read_text()

    second = _set_up()

    assert (first.loaded.result.saved, second.loaded.result.unchanged) == (_FEW, _FEW)
    assert second.access == first.access
    assert (tmp_path / "demo.json").read_text() == kept
    assert ApiKey.objects.count() == 1


def test_its_facets_are_declared():
    tenant = _set_up().loaded.tenant

    with tenant_session(tenant):
        vocabulary = vocabulary_of(get_corpus(tenant=tenant, slug="feedback"))

    assert vocabulary.facets["rating"].values == ("1", "2", "3", "4", "5")
    assert {"platform", "plan", "region", "app_version"} <= vocabulary.facets.keys()


def test_the_sign_in_works():
    access = _set_up().access

    assert _signs_in(access)


def _signs_in(access):
    return get_user_model().objects.get(username=access.username).check_password(access.password)


def test_the_secrets_are_for_their_owner_alone(tmp_path):
    _set_up()

    assert S_IMODE((tmp_path / "demo.json").stat().st_mode) == 0o600


def test_a_lost_file_gives_another_password_and_key(tmp_path):
    first = _set_up().access
    (tmp_path / "demo.json").unlink()

    second = _set_up().access

    assert second.password != first.password
    assert second.api_key != first.api_key
    assert _signs_in(second)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"password": 7, "api_key": "nonsense"}'])
def test_a_damaged_file_is_made_anew(tmp_path, content):
    (tmp_path / "demo.json").write_text(content)

    access = _set_up().access

    assert json.loads((tmp_path / "demo.json").read_text())["api_key"] == access.api_key


def test_a_revoked_key_is_replaced():
    first = _set_up().access
    ApiKey.objects.update(revoked_at=NOW)

    assert _set_up().access.api_key != first.api_key


def test_somebody_elses_account_is_never_taken_over(tenant):
    stranger = make_user(tenant=tenant, role=Role.ADMIN, username=demo.USERNAME)
    before = stranger.password

    with pytest.raises(Conflict, match="WA_STATE_DIR"):
        _set_up()

    stranger.refresh_from_db()
    assert stranger.password == before


def test_the_curl_line_can_be_pasted():
    access = demo.Access("analyst", "secret", "wsk_abc")

    words = shlex.split(_curl("http://127.0.0.1:8000", access))

    assert words[2] == "http://127.0.0.1:8000/api/v1/ask"
    assert "Authorization: Bearer wsk_abc" in words
    assert json.loads(words[-1]) == {"question": QUESTION}
