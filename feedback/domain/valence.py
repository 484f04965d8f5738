"""Words that praise and words that complain, for telling which way a sentence leans."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from feedback.domain.polarity import NOT_NEGATING, Affirmation
from feedback.domain.text import content_tokens

_PRAISE: Final = {
    "en": """
good great excellent brilliant wonderful fantastic amazing superb outstanding perfect perfectly lovely nice nicer best kind friendly polite courteous considerate compassionate professional helpful attentive reassuring
respectful welcoming thorough efficient efficiently quick quickly fast faster prompt promptly
punctual smooth smoothly easy easily simple intuitive clear clearly reliable safe clean spotless tidy comfortable happy pleased satisfied delighted glad grateful thankful thank thanks appreciate appreciated love loved enjoy enjoyed recommend recommended praise praised impressed impressive solved resolved cheap affordable
generous tasty delicious strong accurate success successful beautiful calm positive exceptional
""",
    "de": """
gut gute guter gutes toll super hervorragend ausgezeichnet freundlich nett höflich hilfsbereit kompetent schnell pünktlich
zuverlässig sauber einfach klar zufrieden glücklich dankbar danke empfehlen empfehlenswert perfekt angenehm bequem günstig
gelöst begeistert reibungslos besser
""",
    "es": """
bueno buena buenos buenas genial excelente fantástico perfecto perfecta amable amables atento rápido rápida puntual fiable
limpio limpia fácil claro contento contenta satisfecho satisfecha gracias recomiendo encanta cómodo barato mejor resuelto
""",
    "fr": """
bon bonne bons bonnes excellent excellente parfait parfaite gentil aimable serviable rapide ponctuel fiable propre facile
clair content contente satisfait satisfaite merci recommande agréable confortable mieux résolu
""",
}
_COMPLAINT: Final = {
    "en": """
bad poor terrible awful horrible appalling dreadful worst worse disgusting disgraceful unacceptable shocking shambles rude
unkind unfriendly impolite abrupt dismissive arrogant unprofessional unhelpful ignored ignore slow slowly slower late delay
delayed delays waiting waited queue queues broken broke break breaks crash crashed crashes crashing bug buggy error errors fail
failed fails failing failure fault faulty defective damaged damage leaking dirty filthy unclean smelly noisy loud uncomfortable cramped unhappy dissatisfied disappointed disappointing disappointment frustrated frustrating annoyed annoying angry
upset stressful confusing confused unclear complicated difficult hard impossible useless worthless waste
wasted overpriced expensive rip scam fraud lost lose missing wrong incorrect mistake mistakes refused reject
rejected declined cancelled canceled complain complained complaint complaints problem problems issue issues trouble hate hated
dislike avoid unsafe dangerous unreliable lack lacking lacks nightmare sadly unfortunately regret soaked stuck rushed chaotic
""",
    "de": """
schlecht schlechte schlechter schlimm furchtbar schrecklich unfreundlich unhöflich langsam verspätet spät verspätung kaputt
defekt fehler fehlerhaft schmutzig dreckig laut teuer überteuert enttäuscht enttäuschend ärgerlich unzufrieden kompliziert
schwierig problem probleme beschwerde leider nutzlos verloren falsch gewartet
""",
    "es": """
malo mala malos malas pésimo terrible horrible grosero grosera lento lenta tarde retraso roto rota defectuoso sucio sucia ruidoso
caro cara decepcionado decepcionante molesto frustrante difícil complicado problema problemas queja error errores perdido
inútil peor
""",
    "fr": """
mauvais mauvaise terrible horrible impoli lent lente retard cassé cassée défectueux sale bruyant cher chère déçu déçue
décevant difficile compliqué problème problèmes plainte erreur erreurs perdu inutile pire
""",
}
# "No complaints", "can't fault them", "could not be better": praise in words of complaint.
_TURNED: Final = re.compile(r"complaint|problem|issue|fault", re.IGNORECASE)
_UNSURPASSED: Final = re.compile(
    r"\b(?:could|can|would|do)\s*(?:not|n['’]t)\s+(?:think\s+(?:\w+\s+){0,2}could\s+)?(?:be|have\s+(?:been|wished\s+for|asked\s+for)|wish\s+for|ask\s+for|improve)"
    r"(?:\s+\w+){0,2}?\s*(?:better|improved|more|on)\b|\bnever\s+had\s+such\b|\bdifficult\s+to\s+improve\b|\bno\s+fault\b",
    re.IGNORECASE,
)
# "Nothing, the service was excellent" answers what could be better: it denies nothing of what follows.
_ANSWER: Final = re.compile(
    r"^\W*(?:(?:absolutely|literally|really|honestly)\s+)?(?:nothing|none|no|nope|nichts|nein|nada)(?:\s+(?:at\s+all|really|to\s+add))?"
    r"(?!\s+(?:complaints?|problems?|issues?|faults?|one|doubt|matter|longer|but|more|other))\b[\s,.;:–-]*",
    re.IGNORECASE,
)


@lru_cache(maxsize=32)
def _lexicon(language: str) -> Mapping[str, int]:
    signs: dict[str, int] = {}
    for sign, lists in ((1, _PRAISE), (-1, _COMPLAINT)):
        for token in content_tokens(lists.get(language, ""), language):
            signs[token.stem] = sign
    return signs


def valence(sentence: str, said: Affirmation, language: str = "en") -> tuple[int, int]:
    """Count the words of a sentence that praise and those that complain; one that `said` negates counts for the other side.

    A question leans neither way, nor does a language without a list (there are English, German, Spanish, French).
    """
    lexicon = _lexicon(language)
    if not lexicon or sentence.rstrip().endswith("?"):
        return 0, 0
    turned = list(_UNSURPASSED.finditer(sentence))
    idle = [*NOT_NEGATING.finditer(sentence), *turned]
    praise = len(turned) + sum(1 for match in idle if _TURNED.search(match.group()) and match not in turned)
    complaint = 0
    for token in content_tokens(sentence, language):
        if any(match.start() <= token.start < match.end() for match in idle):
            continue
        sign = lexicon.get(token.stem, 0) * (-1 if token.stem in said.negated else 1)
        praise += sign > 0
        complaint += sign < 0
    return praise, complaint


def without_answer(sentence: str) -> str:
    """Return a sentence without the "Nothing," or "No," with which it answers a question of a survey."""
    return _ANSWER.sub("", sentence, count=1) or sentence


def leaning(praise: int, complaint: int) -> float:
    """Return which way the words lean, from -1 (complaint) to 1 (praise); 0 when they don't or there are none."""
    total = praise + complaint
    return (praise - complaint) / total if total else 0.0


def is_valued(stem: str, language: str = "en") -> bool:
    """Tell whether a word praises or complains, rather than says what about."""
    return stem in _lexicon(language)
