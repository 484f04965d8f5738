"""Spoil who or what a claim is about: an entity of the corpus put for another, an account that doesn't exist."""

from __future__ import annotations

import random
import re
from typing import Final

from answering.domain.claims import ClaimKind
from benchmarks.mutations.drafts import Built, Corpus
from benchmarks.mutations.spoiling import (
    Spoiled,
    claims_in_turn,
    known_text,
    language_of,
    lowered,
    reworded,
    shuffled,
    without_stop,
)


def entity_swapped(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Put another name of the same kind, one of the corpus that the cited records don't bear."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        known = f"{known_text(good, claim)} {claim.text}"
        for names in shuffled((*_accounts_by_form(corpus), *_NAMES), rng):
            for name in shuffled([n for n in names if _bears(claim.text, n)], rng):
                free = [n for n in names if not _bears(known, n)]
                if not free:
                    continue
                text = _renamed(claim.text, name, rng.choice(free))
                return reworded("entity_swapped", good, claim, text)
    return None


def invented_account(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Attribute the claim to an account that the corpus doesn't have."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        forms: list[str] = []
        for names, invented in zip(_accounts_by_form(corpus), _INVENTED, strict=True):
            forms += [_renamed(claim.text, n, rng.choice(invented)) for n in names if _bears(claim.text, n)]
        if claim.measure is None and (not forms or rng.random() < 0.4):
            language = language_of(good, claim)
            forms += [
                re.sub(pattern, rng.choice(_WHO), claim.text, count=1)
                for pattern in (
                    r"^(?:A|One) (?:reviewer|customer|survey respondent|shopper)(?='s\b| \w+s\b| (?!who)\w+ed\b)",
                )
                if re.search(pattern, claim.text)
            ]
            if language == "en":
                forms.append(f"According to {_within(rng.choice(_WHO))}, {lowered(claim.text)}")
                forms.append(f"{without_stop(claim.text)}, and {_within(rng.choice(_WHO))} reports the same.")
            elif language in _REPORTED:
                forms.append(f"{without_stop(claim.text)}, {rng.choice(_REPORTED[language])}.")
        if forms:
            return reworded("invented_account", good, claim, rng.choice(forms))
    return None


def _bears(text: str, name: str) -> bool:
    """Tell whether the text holds the name, written as it is: "ES" is a region and "es" a word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _within(account: str) -> str:
    """Write an account's name as it stands within a sentence."""
    return account.replace("The ", "the ", 1)


def _renamed(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


def _accounts_by_form(corpus: Corpus) -> tuple[tuple[str, ...], ...]:
    """Return the names of the accounts by how they stand in a sentence: each may take another's place in its row."""
    latin = [a for a in corpus.accounts if a.isascii() or re.search(r"[a-z]", a)]
    households = tuple(f"{a.removesuffix(' household')} household" for a in latin if a.endswith(" household"))
    german = tuple(a for a in latin if a.startswith("Haushalt "))
    spanish = tuple(f"familia {a.removeprefix('Familia ')}" for a in latin if a.startswith("Familia "))
    rest = tuple(a for a in latin if not a.endswith(" household") and not a.startswith(("Haushalt ", "Familia ")))
    return households, german, spanish, rest


_INVENTED: Final = (
    ("Ashworth household", "Pellinore household", "Danvers household", "Thackeray household", "Moreau household"),
    ("Haushalt Lindemann", "Haushalt Kessler", "Haushalt Brandl"),
    ("familia Cifuentes", "familia Olmedo", "familia Zubiri"),
    ("Copperfield Hotel", "Finch & Sons Grocers", "Bramble Court Care Home", "Old Mill Canteen", "Quayside Bistro"),
)
_WHO: Final = (
    "The Ashworth household",
    "The Pellinore household",
    "The Danvers household",
    "The Moreau household",
    "Copperfield Hotel",
    "Quayside Bistro",
    "Old Mill Canteen",
    "Bramble Court Care Home",
)
_REPORTED: Final = {
    "de": ("so berichtet Haushalt Lindemann", "wie das Hotel Copperfield meldet"),
    "es": ("según la familia Cifuentes", "como cuenta el Hotel Copperfield"),
}
_NAMES: Final = (
    ("Joss", "Imani", "Bertie", "Marek", "Femi", "Kayleigh", "Jas", "Julián", "Pete"),
    ("Wren", "Joss", "Imani", "Bertie"),
    ("Pip kettle", "Hearth casserole", "Fold laundry rack", "Tern bread knife", "air fryer", "waffle maker"),
    ("Pip-Wasserkocher", "Hearth-Topf", "Marl-Becher"),
    ("Marl mugs", "Tern knives", "Fold racks", "Hearth pans"),
    ("Tern", "Marl", "Fold"),
    ("Hearth", "Marl", "Tern", "Pip"),
    ("Stoke", "Leicester", "Northampton", "Hull", "Wakefield", "Kettering"),
    ("Corby", "Kettering", "Hull", "Ennis", "Stoke"),
    ("Vermont", "Galway", "Bremen", "Munich"),
    ("Sevilla", "Bremen", "Kettering"),
    ("US", "IE", "ES", "DE"),
    ("SAVE20", "FREESHIP", "WELCOME15", "SORRY10", "PLUSBACK", "LARK-5OFF"),
    ("ERR_0x80070005", "E1042", "PAY-402", "E2207"),
    ("4.18.0", "4.23.0", "4.17.0"),
    ("4.18.1", "4.23.0", "4.17.0"),
    ("VoiceOver", "TalkBack", "Face ID"),
    ("TalkBack", "VoiceOver"),
    ("PayPal", "gift card"),
    ("dukkah", "asafoetida", "horseradish"),
    ("Halloumi", "Ghee", "Passata"),
    ("oat milk", "semi-skimmed milk"),
    ("white chocolate mice", "praline eggs"),
    ("Valentine's week", "Diwali week", "Halloween week"),
    ("Diwali", "Christmas", "Easter"),
    ("“Delivery times”", "“Packaging”", "“Privacy and account”", "“Search and discovery”"),
    ("“Checkout and payment”", "“Coupons and loyalty”", "“Accessibility”"),
    ("“Pricing”", "“Stock availability”", "“Product quality”"),
    ("“App stability”", "“Returns and refunds”", "“Customer support”", "“Subscription”"),
    ("app reviews", "call notes", "social posts"),
    ("support tickets", "complaints", "social posts"),
    ("complaints", "surveys", "call notes"),
)  # fmt: skip
