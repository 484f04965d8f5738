"""Spoil what the words say: negation, direction, superlatives and causes."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Final

from answering.domain.claims import Claim, ClaimKind
from benchmarks.mutations.drafts import Built, Corpus
from benchmarks.mutations.spoiling import (
    Spoiled,
    cited,
    cited_text,
    claims_in_turn,
    language_of,
    lowered,
    opened,
    reworded,
    shuffled,
    spoiled,
    without_stop,
)

Pattern = tuple[str, str]


def negation_flipped(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Drop a "not", "no" or "never", or put one in; a claim that has one loses it rather than gets another."""
    for claim in claims_in_turn(good, rng, ClaimKind.STATEMENT, ClaimKind.MEASURE):
        language = language_of(good, claim)
        for table in (_NEGATED, _AFFIRMED):
            for pattern, new in shuffled(table.get(language, ()), rng):
                text, changes = re.subn(pattern, new, claim.text, count=1)
                if changes:
                    return reworded("negation_flipped", good, claim, _with_articles(text))
    return None


def direction_reversed(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Turn a comparison, a movement or an order in time round."""
    for claim in claims_in_turn(good, rng):
        for pattern, new in shuffled(_DIRECTIONS.get(language_of(good, claim), ()), rng):
            text, changes = re.subn(pattern, new, claim.text, count=1)
            if changes:
                return reworded("direction_reversed", good, claim, opened(text))
    return None


def superlative_added(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Rank the claim above all others, which no record can say."""
    for claim in claims_in_turn(good, rng):
        language = language_of(good, claim)
        if language != "en":
            if language in _SUPERLATIVES:
                text = without_stop(claim.text) + rng.choice(_SUPERLATIVES[language])
                return reworded("superlative_added", good, claim, text)
            continue
        forms = [
            re.sub(pattern, new, claim.text, count=1)
            for pattern, new in _TO_SUPERLATIVES
            if re.search(pattern, claim.text)
        ]
        forms.append(without_stop(claim.text) + rng.choice(_SUPERLATIVES["en"]))
        forms.append(rng.choice(_RANKED) + lowered(claim.text))
        return reworded("superlative_added", good, claim, rng.choice(forms))
    return None


def cause_invented(good: Built, corpus: Corpus, rng: random.Random) -> Spoiled | None:
    """Make a cause of what is only said to come before, of another claim, or of nothing at all."""
    makers = shuffled((_cause_of_another_claim, _cause_of_nothing), rng)
    makers.insert(0 if rng.random() < 0.8 else 2, _cause_of_order)
    for maker in makers:
        for claim in claims_in_turn(good, rng):
            made = maker(good, claim, rng)
            if made is not None:
                return made
    return None


def _cause_of_order(good: Built, claim: Claim, rng: random.Random) -> Spoiled | None:
    for pattern, new in shuffled(_ORDERS.get(language_of(good, claim), ()), rng):
        text, changes = re.subn(pattern, new, claim.text, count=1)
        if changes:
            return reworded("cause_invented", good, claim, opened(text))
    return None


def _cause_of_another_claim(good: Built, claim: Claim, rng: random.Random) -> Spoiled | None:
    language = language_of(good, claim)
    mine = _sources(good, claim)  # one customer's two claims may well be cause and effect
    others = [
        c
        for c in good.draft.claims
        if c.id != claim.id
        and mine.isdisjoint(_sources(good, c))
        and c.kind is ClaimKind.STATEMENT
        and language_of(good, c) == language
        and not _LEANS.match(c.text)
    ]
    if not others or language not in _BECAUSE or _LEANS.match(claim.text) or "," in claim.text:
        return None
    other = rng.choice(others)
    text = _BECAUSE[language].format(effect=without_stop(claim.text), cause=lowered(without_stop(other.text), language))
    citations = tuple(dict.fromkeys((*claim.citations, *other.citations)))
    return spoiled(
        "cause_invented", good, replace(claim, text=text, citations=citations), f"{claim.text!r} -> {text!r}"
    )


def _sources(good: Built, claim: Claim) -> set[str | None]:
    return {name for e in cited(good, claim) for name in (e.document_id, e.account, e.person)} - {None}


def _cause_of_nothing(good: Built, claim: Claim, rng: random.Random) -> Spoiled | None:
    free = [
        (words, cause)
        for words, cause in _CAUSES.get(language_of(good, claim), ())
        if not re.search(words, f"{claim.text} {cited_text(claim)}", re.IGNORECASE)
    ]
    if not free or re.search(r"\b(?:because|since|due to|weil|wegen|porque|debido)\b", claim.text):
        return None
    return reworded("cause_invented", good, claim, f"{without_stop(claim.text)} {rng.choice(free)[1]}.")


_LEANS: Final = re.compile(r"(?:It|They|Both|All|Another|The second|The third|The corrected|For them|Its|By|In)\b")
_BECAUSE: Final = {"en": "{effect}, because {cause}.", "es": "{effect}, porque {cause}."}
# What only comes first, or stands against it, becomes the cause. Left out: what a reader would take for one anyway.
_ORDERS: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": (
        (r"^After (?!all\b)(.+?), (.+)\.$", r"\2 because of \1."),
        (r"^(.+?) after ((?:the|a|an|its|two|five|eight|nine|seven|camp)\b(?! month)(?! \w+ \w* ?(?:was|were|had|moved)\b)[^,]*)\.$",
         r"\1 because of \2."),
        (r"^(.+?) after the app moved (.+)\.$", r"\1 because the app moved \2."),
        (r", (?:yet|but) (?=(?:it|they|the|its|two|a|an|no|nothing) )", r", and for that very reason "),
        (r", (?:although|though|even though) (?=(?:it|they|the|its|a|an|there|no) )", r", because "),
        (r" (?:although|even though) (?=(?:it|they|the|its|a|an|there) )", r" because "),
        (r", and then received\b", r" and therefore received"),
        (r" since the clock change\b", r" because of the clock change"),
        (r"; (?=two vans)", r", and that is why "),
    ),
    "de": (
        (r"^Seit dem letzten Update (.+)\.$", r"Wegen des letzten Updates \1."),
        (r"^Seit der Version (.+)\.$", r"Wegen der Version \1."),
        (r"\bzwar nicht pünktlich, rief aber jedes Mal an\b", "nicht pünktlich, weil er jedes Mal anrief"),
        (r"\bTrotz der\b", "Wegen der"),
        (r", nachdem\b", ", weil"),
    ),
    "es": (
        (r"^Tras (.+?), (.+)\.$", r"Por culpa de \1, \2."),
        (r"^Tras (la última actualización) (.+)\.$", r"Por culpa de \1 \2."),
        (r"^Aunque\b", "Como"),
        (r", aunque\b", ", porque"),
    ),
}  # fmt: skip
_CAUSES: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": (
        (r"driver|staff|rout|round|depot", "because the depot was short of drivers"),
        (r"software|update|version|app\b|search|error", "because of a fault in the last software update"),
        (r"plus|price|£5\.99|fee", "as a result of the Plus price rise"),
        (r"suppl|short|stock", "because a supplier had let the shop down"),
        (r"warehouse|move|address", "because the warehouse had just moved"),
        (r"weather|storm|snow|rain|heat|hot|degrees", "owing to the storm that week"),
        (r"strike|staff", "due to a strike at the carrier"),
        (r"wren|bot\b|chat", "because the chatbot had passed the wrong details on"),
    ),
    "de": (
        (r"fahrer|personal", "wegen des Personalmangels im Lager"),
        (r"update|version|app|suche", "wegen eines Fehlers in der Software"),
        (r"streik", "wegen eines Streiks beim Spediteur"),
    ),
    "es": (
        (r"repartidor|personal", "por falta de personal en el almacén"),
        (r"app|buscador|actualización|error", "por un fallo del programa"),
        (r"huelga", "debido a una huelga del transportista"),
    ),
}
_RANKED: Final = (
    "The most common complaint is that ",
    "The point raised most often is that ",
    "Customers' greatest concern is that ",
    "The biggest problem of all is that ",
)
_SUPERLATIVES: Final = {
    "en": (
        ", the most common experience of all.",
        ", which is the worst case on record.",
        ", more than any other customer.",
        ", and no other issue comes up as often.",
        ", the most frequent report of the year.",
        ", the clearest case in the whole corpus.",
    ),
    "de": (
        ", und das ist die häufigste Rückmeldung überhaupt.",
        ", was öfter vorkommt als alles andere.",
        ", der schlimmste Fall von allen.",
    ),
    "es": (
        ", y es la opinión más frecuente de todas.",
        ", el peor caso de todos.",
        ", algo que se repite más que ninguna otra cosa.",
    ),
}
_TO_SUPERLATIVES: Final[tuple[Pattern, ...]] = (
    (r"^A (reviewer|customer|survey respondent)\b(?!')", r"The least satisfied \1 of all"),
    (r"^One (reviewer|customer)\b(?!')", r"The most critical \1 of all"),
    (r"\b(?<!more )quicker\b", "the quickest it has ever been and quicker"),
    (r"\b(?:its|a) (third|second) late delivery\b", r"the worst delay of any customer, its \1 late delivery"),
    (r"\bdearer than\b", "the dearest item of all, above"),
    (r"\bcheaper than\b", "the cheapest of all options, below"),
)


def _with_articles(text: str) -> str:
    """Put "an" before a vowel where a rule has left "a"."""
    return opened(re.sub(r"\ba (?=[aeio]\w)(?!one\b|once\b|euro)", "an ", text))


_PAST: Final = (
    "received|got|came|arrived|lost|gave|ordered|sent|paid|reported|melted|returned|moved|recovered|found|made|"
    "credits|praises|commends|gains|accepts|likes|withdrew|spared|organised|retried|joined|opened"
)
_NEGATED: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": (
        (r"\b(?:cannot|can't) ", "can "),
        (r"\bcan't$", "can"),
        (r"\bwon't\b", "will"),
        (r"\b(is|was|were|are|has|have|had|did|does|do|could|would)n't\b", r"\1"),
        (r"\b(is|was|were|are|has|have|had|could|would|did|does|will) (still )?not\b", r"\1 \2"),
        (r"\bbut not\b", "and also"),
        (r", and not (over|once)\b", r", and also \1"),
        (r"\bnot one was\b", "all were"),
        (r"\bnever stops\b", "soon stops"),
        (r"\bnever ", ""),
        (r"\bno longer\b", "still"),
        (r"\bnobody\b", "somebody"),
        (r"\bnothing had\b", "everything had"),
        (r"\b(?:did nothing|nothing) for\b", "something for"),
        (r"\bno (delivery|egg) (has|was)\b", r"every \1 \2"),
        (r"\bno (refund|order|warning|answer|message|attempt|added benefit|notice|lower)\b", r"a \1"),
        (r"\bno (unannounced|substitutions|plastic|trouble|milk|ice packs)\b", r"some \1"),
        (r"\bno more than four weeks\b", "more than four weeks"),
        (r"\bwithout any\b", "with"),
        (r"\bwithout (a|an)\b", r"with \1"),
        (r", not (over|once)\b", r", and also \1"),
        (r"\bunaided\b", "with help"),
        (r"\bfailed to\b", "managed to"),
        (r"\bneither has\b", "each has"),
        (r"\bneither payment worked\b", "both payments worked"),
    ),
    "de": (
        (r"\bnicht (?!mehr)", ""),
        (r"\bnicht mehr\b", "noch"),
        (r"\bkeine? (?!Abhilfe|kam|Katzenstreu)(?![^.]*sondern)", "eine "),
        (r"\bkeinen (?![^.]*sondern)", "einen "),
        (r"\bohne Verspätung\b", "mit Verspätung"),
        (r"\bohne Hilfe\b", "mit fremder Hilfe"),
        (r"\bohne Kühlakkus\b", "mit Kühlakkus"),
        (r"\bgibt es kein\b", "gibt es wieder"),
        (r"\bbrachte keine\b", "brachte"),
        (r"\bmöchte ab\b", "möchte nicht ab"),
        (r"\bkeine kam\b", "jede kam"),
        (r"\bohne vorgefertigte\b", "nur durch vorgefertigte"),
    ),
    "es": (
        (r"\bno muestra nada\b", "lo muestra todo"),
        (r"\bno (?=\w)(?!muestra)", ""),
        (r"\bninguna llegó\b", "alguna llegó"),
        (r"\bpero ningún pedido\b", "y un pedido"),
        (r"\bsin cambios\b", "con cambios"),
        (r"\bsin ascensor\b", "con ascensor"),
    ),
}
_AFFIRMED: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": (
        (r"(?<!which )(?<!one )\b(is|was|were|are|can|could|will|would)(?= (?!n't|not|no\b|never|nothing)\w)", r"\1 not"),
        (r"\b(has|had|have)(?= (?:still |already |now )?(?:been|\w{3,}ed|come|left|risen|run|become|stuck|given|got)\b)", r"\1 not"),
        (r"\bhas (?=(?:an?|one|two|three|four|\d+)\b)", "does not have "),
        (r"\bhad (?=(?:an?|one|two|three|four|its|late|\d+)\b)", "did not have "),
        (rf"(?<!have )(?<!has )(?<!had )(?<!was )(?<!were )(?<!been )(?<!be )(?<!for )(?<!whoever )\b({_PAST})\b(?= (?!by|with|in a|of))", r"never \1"),
        (r"\bwants\b", "doesn't want"),
        (r"\basks\b(?= (?:for|about|if))", "does not ask"),
        (r"\bask\b(?= (?:for|about|if))", "do not ask"),
        (r"\bhave the\b", "do not have the"),
        (r"\b(come|fall) (?=from|in)", r"do not \1 "),
    ),
    "de": (
        (r"^((?:[^,]* )?(?:ist|sind|wird|kann|hat|ließ|wurde|möchte|will|lässt) [^,]*) (\w+(?:t|en))\.$", r"\1 nicht \2."),
        (r"\bschwankt aber\b", "schwankt aber nicht"),
        (r"\bfunktioniert (.*) noch\b", r"funktioniert \1 nicht mehr"),
        (r"\bkündigt\b", "kündigt nicht"),
        (r"\bbehält Plus fürs Erste\b", "behält Plus nicht"),
        (r"\bbleibt ein Haushalt bei\b", "bleibt ein Haushalt nicht bei"),
        (r"\bbegreift inzwischen auch\b", "begreift auch weiterhin nicht"),
        (r"\bwaren? (?=(?:ganz|die|am) )", "war nicht "),
        (r"\brief aber jedes Mal an\b", "rief aber nie an"),
    ),
    "es": (
        (r"(?<!no )\b(tolera|llegó|pagó|quiere|recibió|reclama|necesita|devolvió|compensan|tardó|pide|asegura|considera|"
         r"estaba|acepta|conseguía|ha desaparecido|se derrite|se pidieron|lo llevan)\b", r"no \1"),
    ),
}  # fmt: skip
_DIRECTIONS: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": (
        (r"\bfrom (roughly )?([£€$][\d.,]+)((?: at \w+)?) to ([£€$][\d.,]+)", r"from \1\4 to \2\3"),
        (r"\bfrom 3\.99 to 5\.99", "from 5.99 to 3.99"),
        (r"\bfell from\b", "rose from"),
        (r"\b(has )risen\b", r"\1fallen"),
        (r"\brose to\b", "fell to"),
        (r"\bto rise\b", "to fall"),
        (r"\b(the|an?|this was the first|%) increase\b", r"\1 decrease"),
        (r"\bquicker\b", "slower"),
        (r"\bdearer\b", "cheaper"),
        (r"\bcheaper\b", "dearer"),
        (r"\bless than\b", "more than"),
        (r"\bmore than (?=\d+ times)", "fewer than "),
        (r"\bmore than(?! \d+ times| one\b)", "less than"),
        (r"\bless food\b", "more food"),
        (r"\bbelow\b", "above"),
        (r"\babove\b", "below"),
        (r"\bat least an hour late\b", "at least an hour early"),
        (r"\b(hours?|minutes|days?|1 hour 40) late\b", r"\1 early"),
        (r"\blate deliver(y|ies)\b", r"early deliver\1"),
        (r"\bdelivery has been late\b", "delivery has been early"),
        (r"\bcame too late\b", "came too early"),
        (r"\bwas late\b", "was early"),
        (r"\blate order\b", "early order"),
        (r"\blate or missing deliveries\b", "early deliveries"),
        (r"\b(were late|was late)\b", "came early"),
        (r"\bon time\b", "late"),
        (r"\bpunctual\b", "late"),
        (r"\bbehind schedule\b", "ahead of schedule"),
        (r"\bworsened\b", "improved"),
        (r"\bthe service has declined\b", "the service has improved"),
        (r"\bimprovement\b", "step backwards"),
        (r"\bextended\b", "shortened"),
        (r"\bcut to\b", "raised to"),
        (r"\bcut by a third\b", "raised by a third"),
        (r"\bto grow by\b", "to shrink by"),
        (r"\btwice as many\b", "half as many"),
        (r"\bmore of everything\b", "less of everything"),
        (r"\bfar less\b", "far more"),
        (r"\bbetter\b", "worse"),
        (r"\bafter\b(?=,? (?:the|a|an|its|two|five|eight|camp|changing|9|which|working))", "before"),
        (r"^After\b", "Before"),
        (r"\bbefore\b", "after"),
        (r"\bin advance of\b", "well after"),
        (r"(?<!week )in advance\b(?! of)", "afterwards"),
        (r"\bpast eight\b", "before eight"),
        (r"\bsooner than\b", "later than"),
        (r"\bpraises?\b", "criticises"),
        (r"\bcommends\b", "blames"),
        (r"\blikes\b", "dislikes"),
        (r"\bclose by\b", "far away"),
        (r"\bearly deliveries\b", "late deliveries"),
        (r"\bis leaving\b", "is joining"),
        (r"\b(sent|send) back\b", r"\1 for"),
        (r"\bwithdrawn\b", "repeated"),
        (r"\bgains\b", "loses"),
        (r"\bpointed to\b", "steered away from"),
        (r"\bsaves?\b", "costs"),
        (r"\bfirst\b(?= and the milk itself ninth)", "last"),
        (r"\bexcess\b", "shortfall"),
        (r"\bunlike\b", "like"),
    ),
    "de": (
        (r"\bzu spät\b", "zu früh"),
        (r"\bgeschmeidiger\b", "ruckeliger"),
        (r"\bdoppelt so viel\b", "halb so viel"),
        (r"\bpünktlich\b", "verspätet"),
        (r"\bohne Verspätung\b", "mit Verspätung"),
        (r"\b6,99 statt 4,99\b", "4,99 statt 6,99"),
        (r"\bin weniger als\b", "erst nach mehr als"),
        (r"\bErhöhung\b", "Senkung"),
        (r"\bvergrößern\b", "verkleinern"),
        (r"\bvor dem\b", "nach dem"),
        (r"\blobt\b", "tadelt"),
    ),
    "es": (
        (r"\bdos días después\b", "dos días antes"),
        (r"\bde 4,99 a 6,99\b", "de 6,99 a 4,99"),
        (r"\bantes de las 11\b", "después de las 11"),
        (r"\bsube un precio\b", "baja un precio"),
        (r"\bantes de (que|comprar)\b", r"después de \1"),
        (r"\bve antes\b", "ve después"),
        (r"\bTras\b", "Antes de"),
        (r"\bdías más tarde\b", "días antes"),
    ),
}  # fmt: skip
