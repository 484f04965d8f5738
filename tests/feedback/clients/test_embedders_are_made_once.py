"""A process has one embedder per name and options, and an unknown name is refused with the known ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import InvalidInput
from feedback.clients.embedders.registry import EMBEDDERS, EmbedderOptions, embedder_names, get_embedder


def test_threads_share_one_embedder() -> None:
    options = EmbedderOptions(seed=99)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: get_embedder("hashed", options), range(32)))

    assert len({id(embedder) for embedder in found}) == 1


def test_other_options_make_another() -> None:
    assert get_embedder("hashed", EmbedderOptions(seed=1)) is not get_embedder("hashed", EmbedderOptions(seed=2))


@pytest.mark.parametrize("name", ["static", "minilm", "hashed"])
def test_embedder_carries_its_setting(name: str) -> None:
    embedder = get_embedder(name)

    assert embedder.name == name
    assert embedder.version
    assert embedder.dimensions == {"static": 256, "minilm": 384, "hashed": 128}[name]


@pytest.mark.parametrize("name", ["", "bert", "Static"])
def test_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        get_embedder(name)

    assert refused.value.detail["embedders"] == list(EMBEDDERS)


def test_openai_needs_an_endpoint() -> None:
    with pytest.raises(InvalidInput, match="endpoint"):
        get_embedder("openai", EmbedderOptions(model="m"))


def test_setting_names_several() -> None:
    assert embedder_names("static+minilm") == ("static", "minilm")
    assert embedder_names(" hashed ") == ("hashed",)


@pytest.mark.parametrize("setting", ["", "static+", "static+static", "static,minilm"])
def test_bad_setting_is_refused(setting: str) -> None:
    with pytest.raises(InvalidInput):
        embedder_names(setting)


def test_key_is_not_shown() -> None:
    assert "sk-secret" not in repr(EmbedderOptions(api_key="sk-secret"))
