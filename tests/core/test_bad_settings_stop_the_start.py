"""A value that can't be used stops the start with the variable's name, and a secret is never repeated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.configuration import (
    PROJECT_ROOT,
    BadSetting,
    WisdomSettings,
    describe_as_json,
    load_settings,
    local_secret_key,
)
from core.database_settings import databases

KEY = "k" * 40


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch):
    for name in list(os.environ):
        if name.startswith("WA_"):
            monkeypatch.delenv(name)


def test_nothing_has_to_be_set():
    settings = load_settings()

    assert settings.is_local
    assert settings.uses_embedded_postgres
    assert settings.state_dir == PROJECT_ROOT / ".wisdom"


def test_values_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("WA_RRF_K", "30")
    monkeypatch.setenv("WA_LOG_JSON", "false")
    monkeypatch.setenv("WA_ALLOWED_HOSTS", "a.example, b.example,")
    monkeypatch.setenv("WA_STATE_DIR", "/somewhere/else")

    settings = load_settings()

    assert (settings.rrf_k, settings.log_json) == (30, False)
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert str(settings.state_dir) == "/somewhere/else"


def test_an_empty_variable_is_unset(monkeypatch):
    monkeypatch.setenv("WA_PORT", "")

    assert load_settings().port == 8000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WA_PORT", "http"),
        ("WA_PORT", "70000"),
        ("WA_RRF_K", "0"),
        ("WA_RRF_K", "many"),
        ("WA_BM25_B", "1.5"),
        ("WA_BM25_B", "nan"),
        ("WA_LOG_LEVEL", "loud"),
        ("WA_LOG_JSON", "perhaps"),
        ("WA_EMBEDDER", "word2vec"),
        ("WA_FUSION_STRATEGY", "RRF"),
        ("WA_PARTITION_SPAN_MONTHS", "5"),
        ("WA_TENANT_SHARDS", "0"),
        ("WA_DEFAULT_TENANT", "Acme Ltd"),
        ("WA_ENVIRONMENT", "x" * 41),
        ("WA_ENTAILMENT", "yes"),
        ("WA_ENTAILMENT_DECIDES", "model"),
        ("WA_LLM_BASE_URL", "models.example/v1"),
        ("WA_LLM_BASE_URL", "https://models.example/v1?key=k"),
        ("WA_TIMEOUT_SECONDS", "0"),
        ("WA_RETRY_MAX_ATTEMPTS", "0"),
        ("WA_BREAKER_FAILURE_THRESHOLD", "0"),
        ("WA_BULKHEAD_MAX_CONCURRENT", "many"),
    ],
)
def test_a_bad_value_is_named_with_its_variable(monkeypatch, name, value):
    monkeypatch.setenv(name, value)

    with pytest.raises(BadSetting) as raised:
        load_settings()

    assert f"{name}={value!r}: " in str(raised.value)


def test_all_bad_values_are_named_at_once(monkeypatch):
    monkeypatch.setenv("WA_PORT", "http")
    monkeypatch.setenv("WA_RRF_K", "many")
    monkeypatch.setenv("WA_MIN_SUPORT", "0.5")

    with pytest.raises(BadSetting) as raised:
        load_settings()

    assert all(name in str(raised.value) for name in ("WA_PORT", "WA_RRF_K", "WA_MIN_SUPORT"))


def test_an_unknown_name_is_refused_with_the_closest_as_a_hint(monkeypatch):
    monkeypatch.setenv("WA_MIN_SUPORT", "0.5")

    with pytest.raises(BadSetting, match=r"WA_MIN_SUPORT is not a setting.*did you mean WA_MIN_SUPPORT"):
        load_settings()


def test_a_name_like_no_setting_is_refused_with_the_page(monkeypatch):
    monkeypatch.setenv("WA_ZZZZZZ", "1")

    with pytest.raises(BadSetting, match=r"docs/settings\.md"):
        load_settings()


def test_settings_that_contradict_each_other_are_named(monkeypatch):
    monkeypatch.setenv("WA_DEFAULT_TOP_K", "50")
    monkeypatch.setenv("WA_MAX_TOP_K", "20")

    with pytest.raises(BadSetting, match=r"WA_DEFAULT_TOP_K.*WA_MAX_TOP_K"):
        load_settings()


@pytest.mark.parametrize(("kind", "missing"), [("onnx", "WA_ENTAILMENT_MODEL"), ("judge", "WA_LLM_BASE_URL")])
def test_a_second_opinion_needs_somebody_to_give_it(monkeypatch, kind, missing):
    monkeypatch.setenv("WA_ENTAILMENT", kind)

    with pytest.raises(BadSetting, match=f"name .* in {missing}"):
        load_settings()


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_is_named_with_what_it_lacks(monkeypatch, tmp_path, missing):
    for name in {"model.onnx", "tokenizer.json"} - {missing}:
        (tmp_path / name).write_text("{}")
    monkeypatch.setenv("WA_ENTAILMENT", "onnx")
    monkeypatch.setenv("WA_ENTAILMENT_MODEL", str(tmp_path))

    with pytest.raises(BadSetting, match=f"WA_ENTAILMENT_MODEL=.*there is no {missing}"):
        load_settings()


def test_a_folder_with_a_model_starts(monkeypatch, tmp_path):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setenv("WA_ENTAILMENT", "onnx")
    monkeypatch.setenv("WA_ENTAILMENT_MODEL", str(tmp_path))

    assert load_settings().entailment_model == tmp_path


@pytest.mark.parametrize(
    ("given_too", "missing"),
    [({"WA_ALLOWED_HOSTS": "a.example"}, "WA_SECRET_KEY"), ({"WA_SECRET_KEY": KEY}, "WA_ALLOWED_HOSTS")],
)
def test_another_environment_than_local_needs_its_own_secret_and_hosts(monkeypatch, given_too, missing):
    monkeypatch.setenv("WA_ENVIRONMENT", "production")
    for name, value in given_too.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(BadSetting, match=f"{missing} is required"):
        load_settings()


def test_another_environment_starts_with_both(monkeypatch):
    monkeypatch.setenv("WA_ENVIRONMENT", "production")
    monkeypatch.setenv("WA_SECRET_KEY", KEY)
    monkeypatch.setenv("WA_ALLOWED_HOSTS", "a.example")

    assert not load_settings().is_local


def test_the_owners_database_is_refused_without_the_applications(monkeypatch):
    monkeypatch.setenv("WA_DATABASE_OWNER_DSN", "postgresql://owner:hunter2hunter2@db/wisdom")

    with pytest.raises(BadSetting, match="WA_DATABASE_OWNER_DSN is set without WA_DATABASE_DSN") as raised:
        load_settings()

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "dsn", ["postgresql://u:hunter2hunter2@[bad/db", "hunter2hunter2", "postgresql://:hunter2hunter2@db"]
)
def test_a_dsn_that_cant_be_used_is_named_without_its_password(monkeypatch, dsn):
    monkeypatch.setenv("WA_DATABASE_DSN", dsn)
    settings = load_settings()

    with pytest.raises(BadSetting, match="WA_DATABASE_DSN") as raised:
        databases(settings, pooled=False)

    assert "hunter2" not in str(raised.value)


def test_a_short_secret_is_refused_and_not_repeated(monkeypatch):
    monkeypatch.setenv("WA_SECRET_KEY", "hunter2")

    with pytest.raises(BadSetting, match="WA_SECRET_KEY is too short") as raised:
        load_settings()

    assert "hunter2" not in str(raised.value)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=32, max_size=60)
)
def test_no_secret_is_ever_described(secret):
    settings = WisdomSettings(secret_key=secret, database_dsn=secret, database_owner_dsn=secret, llm_api_key=secret)

    told = describe_as_json(settings) + repr(settings) + str(settings)

    assert secret not in told
    assert json.loads(describe_as_json(settings))["WA_SECRET_KEY"] == "set"


def test_the_description_names_every_setting():
    described = WisdomSettings().describe()

    assert set(described) == {f"WA_{name.upper()}" for name in WisdomSettings.model_fields}
    assert described["WA_DATABASE_DSN"] == "blank"


def test_a_command_stops_with_one_line():
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT_ROOT,
        env={**os.environ, "WA_RRF_K": "many", "DJANGO_SETTINGS_MODULE": "wisdom_project.settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("Wisdom can't start: WA_RRF_K='many': ")
    assert done.stderr.count("\n") == 1


def test_a_local_secret_is_made_once_and_kept_for_its_owner_alone(tmp_path):
    made = local_secret_key(tmp_path / "state")

    assert len(made) >= 32
    assert local_secret_key(tmp_path / "state") == made
    assert (tmp_path / "state" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_processes_that_start_at_once_agree_on_the_secret(tmp_path):
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(local_secret_key(tmp_path))) for _ in range(16)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 16
    assert len(set(found)) == 1


def test_a_half_written_secret_is_made_anew(tmp_path):
    (tmp_path / "secret_key").write_text("cut sho")

    assert len(local_secret_key(tmp_path)) >= 32


def test_a_state_folder_that_cant_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(BadSetting, match="WA_STATE_DIR="):
        local_secret_key(tmp_path / "file" / "state")
