"""List the words by which a question is read, in four languages."""

from __future__ import annotations

import re
from typing import Final

from answering.domain.planner.intent import Intent

_INTENTS: Final = (
    (
        Intent.COMPARE,
        r"\b(?:compar\w+|versus|vs\.?|differ\w*|(?:better|worse|more|less|fewer|higher|lower)\b.{1,60}\bthan|"
        r"vergleich\w*|unterschied\w*|gegenüber|diferenci\w+|frente\s+a|comparé\w*|par\s+rapport)\b",
    ),
    (
        Intent.TREND,
        r"\b(?:trend\w*|over\s+time|(?:getting|become|becoming|got|gotten)\s+(?:better|worse|more|less|faster|slower)|"
        r"(?:getting|becoming)\s+\w+\s+again|how\s+(?:did|has|have|do|does)\b.{1,80}\b(?:develop|evolve)(?:ed|s)?\b|"
        r"(?:ris|fall|increas|decreas|declin|grow|improv|worsen|chang)(?:e|es|ed|ing)\b|develop(?:ed|ing)\s+since|"
        r"(?:month|week|year|day|quarter)\s+(?:by|on|over|after)\s+(?:month|week|year|day|quarter)|per\s+(?:day|week|month|quarter|year)|"
        r"entwickel\w*|entwicklung|verlauf|im\s+laufe|(?:besser|schlechter|schlimmer)\s*\?|wird\b.{1,60}\b(?:besser|schlechter|schlimmer)|"
        r"(?:empeor|mejor)(?:ando|ado)|han?\s+evolucionado|tendencia\w*|evoluci\w+|evolucion\w+|évolution|évolué)\b",
    ),
    (
        Intent.HOW_MANY,
        r"\b(?:how\s+(?:many|often|frequent\w*|common)|number\s+of|count|what\s+(?:share|percentage|percent|proportion|fraction)|"
        r"wie\s*viele?|wie\s+oft|wie\s+häufig|anzahl|cuánt[oa]s|cuantas|cuantos|número\s+de|combien)\b",
    ),
    (
        Intent.WHO,
        r"^\W*(?:who|whose|which\s+(?:customers?|accounts?|clients?|patients?|users?|companies|people|teams?|trusts?)|"
        r"wer|welche\s+(?:kunden|konten)|qui[eé]n(?:es)?|qué\s+clientes|qui|quels\s+clients)\b",
    ),
    (
        Intent.WHY,
        r"\b(?:why|reasons?\s+(?:for|why|behind)|root\s+causes?|causes?\s+(?:of|for)|what\s+(?:makes?|made|drives?|caus\w+|leads?\s+to)|"
        r"warum|wieso|weshalb|grund\s+für|gründe|por\s+qué|motivos?|razones|pourquoi)\b",
    ),
)
INTENT_PATTERNS: Final = tuple((intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in _INTENTS)
NEGATED: Final = re.compile(
    r"\b(?:not|never|without|no\s+longer|nicht|nie|ohne|kein\w*|sin|nunca|ne|sans)\b|n[’']t\b|^\W*(?:\w+\W+){0,4}no\b",
    re.IGNORECASE,
)
ABOUT_ACCOUNT: Final = re.compile(
    r"\b(?:tell\s+me\s+about|brief\s+me|what(?:'s|’s|\s+is)\s+(?:going\s+on|happening|new|up)\s+(?:with|at)|status\s+of|context\s+(?:for|on|of)|"
    r"overview\s+(?:of|on)|(?:give\s+me\s+)?(?:the\s+|some\s+)?background\s+(?:on|to|of)|summar(?:y|ise|ize)|account|prepare\s+me|how\s+is\b.{1,40}\bdoing|was\s+ist\s+los\s+bei|qué\s+pasa\s+con)\b",
    re.IGNORECASE,
)
# What somebody will do with the answer is not what is asked about.
AFTERWARDS: Final = re.compile(
    r"\b(?:before|so\s+that|ahead\s+of|bevor|antes\s+de\s+que)\s+(?:i|we|my|our|the|ich|wir|mein\w*|unser\w*)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
BROAD: Final = re.compile(
    r"\b(?:main|most|common|top|biggest|major|key|frequent|typical|themes?|topics?|overall|issues|complaints|problems|pain\s+points|"
    r"häufigste\w*|wichtigste\w*|probleme|themen|principales|problemas|temas|quejas|principaux|problèmes)\b",
    re.IGNORECASE,
)
# Words that put a question rather than say what it is about.
_FRAME_WORDS: Final = """
say says said saying tell tells told talk talks talking think thinks thought feel feels feeling mention mentions mentioned
describe describes report reports reported comment comments commented feedback opinion opinions view views ask asks asked
people argument arguments pro pros con cons for against patient patients customer customers user users client clients respondent respondents reviewer reviewers anyone
main common top biggest major key frequent typical overall reason reasons cause causes number count share percentage percent
proportion often many much long kind type types theme themes topic topics compare compared comparison versus difference
differences differ trend trends change changes changed changing develop record records review reviews ticket tickets survey
surveys time times please show give list find summarise summarize summary happening happen happens happened need needs want
sagen sagt denken meinen kunden patienten nutzer grund gründe wichtigsten häufigsten rückmeldungen dicen piensan opinan
clientes pacientes usuarios comentarios opiniones motivos principales disent pensent clients avis raisons
eintrag einträge einträgen erwähnt erwähnen viele registro registros menciona mencionan habla hablan
"""
FRAME: Final = frozenset(_FRAME_WORDS.split())
# How something goes, which a trend measures, is not what goes.
COURSE: Final = frozenset(
    "get gets getting got gotten become becomes becoming became worse better more less faster slower rise rises rising rose fall"
    " falls falling fell increase increases increasing increased decrease decreases decreasing decreased decline declines"
    " declining declined grow grows growing grew improve improves improving improved worsen worsens worsening worsened"
    " develops developed developing evolve evolves evolved month months monthly week weeks weekly quarter quarters quarterly"
    " year years yearly day days daily trend tendency"
    " wird werden wurde besser schlechter schlimmer mehr weniger entwickelt entwickelte entwickeln zugenommen abgenommen"
    " gestiegen gesunken pro tag tage woche wochen monat monate monaten quartal quartale jahr jahre jahren"
    " está están empeorando mejorando empeorado mejorado evolucionado cambiado aumentado disminuido tendencia evolución"
    " por día semana mes meses trimestre año años".split()
)
# What a question about everything asks for.
BROAD_WORDS: Final = frozenset(
    "problem problems issue issues complaint complaints pain point points probleme problemas quejas problèmes".split()
)
_SOURCE_WORDS: Final = {
    "support_ticket": r"(?:support\s+)?tickets?|support\s+requests?|supportanfragen|tíquets",
    "app_review": r"(?:app(?:\s+store)?\s+|play\s+store\s+)?reviews?|bewertungen|reseñas",
    "survey": r"surveys?(?:\s+(?:comments?|responses?|answers?))?|umfragen?|encuestas?|sondages?",
    "complaint": r"(?:formal\s+)?complaints?|beschwerden|quejas|reclamaciones",
    "social": r"social(?:\s+media)?(?:\s+posts?)?|tweets?|posts?",
    "call": r"(?:phone\s+|sales\s+)?calls?|call\s+transcripts?|transcripts?|anrufen?|llamadas?",
    "note": r"notes?|notizen|notas",
    "filing": r"filings?|10-[kq]s?",
}
_IN_SOURCE: Final = (
    r"\b(?:(?:in|from|among|across|within|of|our|aus|den|unseren|en|de|dans|des|les|las|los|nuestras)\s+"
    r"(?:(?:the|our|all|any|these|those|recent|new|last|latest)\s+){{0,2}}|how\s+many\s+|wie\s?viele\s+|cuánt[oa]s\s+)(?:{words})\b"
)
SOURCE_PATTERNS: Final = {
    source: re.compile(_IN_SOURCE.format(words=words), re.IGNORECASE) for source, words in _SOURCE_WORDS.items()
}
QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{2,80})[\"”“»]")
# A phone writes Nolan’s, a keyboard Nolan's.
APOSTROPHES: Final = str.maketrans("’‘ʼ´`", "'''''")
LONGEST_FACET: Final = 3
MOST_FACETS: Final = 8
