"""What a text search parser would lose is found: codes and versions as they are written, and every script."""

from __future__ import annotations

import pytest

from feedback.domain.retrieval import Mode
from tests.factories import make_document

CODES = {
    "order": "Order #A-10293 never came.",
    "near": "Order #A-10294 never came.",
    "voucher": "The voucher SAVE20 was refused.",
    "error": "It says ERR_0x80070005 on the screen.",
    "version": "Since version 4.18.0 it crashes.",
    "older": "With v4.17.2 it was fine.",
    "long": "Parcel 114-3941689-8772232 is lost.",
    "plain": "The voucher was refused and nobody called.",
}


@pytest.fixture
def codes(corpus, ingest):
    ingest(*(make_document(identity, text) for identity, text in CODES.items()))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("#A-10293", "order"),
        ("A-10293", "order"),
        ("a-10293", "order"),
        ("what about order A-10293?", "order"),
        ("SAVE20", "voucher"),
        ("save20", "voucher"),
        ("ERR_0x80070005", "error"),
        ("4.18.0", "version"),
        ("v4.18.0", "version"),
        ("version 4.17.2", "older"),
        ("114-3941689-8772232", "long"),
    ],
)
def test_a_code_finds_its_record_first(codes, search, query, found):
    assert search(query)[0] == found


GLUED = {
    "ja-order": "注文番号A-10293がまだ届きません。",
    "ja-voucher": "クーポンＳＡＶＥ２０が使えませんでした。",
    "zh-order": "订单A-10294一直没有到。",
    "zh-version": "升级到4.18.0以后闪退。",
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("A-10293", "ja-order"),
        ("注文番号A-10293", "ja-order"),
        ("Ａ－１０２９３", "ja-order"),
        ("SAVE20", "ja-voucher"),
        ("ｓａｖｅ２０", "ja-voucher"),
        ("订单A-10294", "zh-order"),
        ("4.18.0", "zh-version"),
    ],
)
def test_a_code_amid_characters_without_spaces_is_found_in_any_width(corpus, ingest, search, query, found):
    ingest(*({"id": identity, "text": text} for identity, text in GLUED.items()))

    assert search(query)[0] == found


@pytest.mark.parametrize("query", ["#A-10295", "SAVE21", "4.18.1"])
def test_a_code_that_no_record_holds_is_not_found_by_its_parts(codes, search, query):
    assert search(query) == []


SCRIPTS = {
    "zh": "快递太慢了,客服没有回复。",
    "ja": "配送が遅くて、カスタマーサービスは返事をくれません。",
    "ko": "배송이 너무 늦고 고객 서비스가 답하지 않습니다.",
    "th": "การจัดส่งช้ามากและไม่มีใครตอบ",
    "de": "Die Lieferung war verspätet, und niemand hat zurückgerufen.",
    "fr": "La livraison était en retard et personne n'a rappelé.",
    "ru": "Доставка опоздала, и никто не перезвонил.",
    "el": "Η παράδοση άργησε και κανείς δεν απάντησε.",
}


@pytest.fixture
def scripts(corpus, ingest):
    # Without their language, as customers send them.
    ingest(*({"id": identity, "text": text} for identity, text in SCRIPTS.items()))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("客服", "zh"),
        ("快递慢", "zh"),
        ("カスタマーサービス", "ja"),
        ("고객 서비스", "ko"),
        ("จัดส่ง", "th"),
        ("Die Lieferungen waren verspätet", "de"),
        ("livraison", "fr"),
        ("Доставки опоздали, и никто не перезвонил", "ru"),
        ("παράδοση", "el"),
    ],
)
def test_a_word_of_any_script_finds_its_record(scripts, search, query, found):
    assert search(query)[0] == found


@pytest.mark.parametrize(("query", "found"), [("verspatet", "de"), ("VERSPÄTET", "de"), ("etait en RETARD", "fr")])
def test_case_and_accents_make_no_difference(scripts, search, query, found):
    assert found in search(query)


def test_half_width_kana_are_the_full_width_ones(corpus, ingest, search):
    ingest({"id": "a", "text": "ﾃﾞﾘﾊﾞﾘｰが遅い"})

    assert search("デリバリー") == ["a"]


def test_one_character_of_han_is_found_where_it_stands_alone(corpus, ingest, search):
    ingest({"id": "a", "text": "很 慢"})

    assert search("慢") == ["a"]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "query", ["' OR 1=1 --", "\\", "%s %(x)s", "a & b | !c <-> d:*", '"quoted" -not', "{}[]()", "\u202e evil"]
)
def test_a_hostile_question_is_only_a_text(corpus, ingest, search, mode, query):
    ingest(make_document("a"))

    assert search(query, mode=mode) in ([], ["a"])
