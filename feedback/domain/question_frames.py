"""Take the words that put a question off the words that it is about.

"What do people say about the transport?" is about the transport. The records share "transport" with it, and hardly
ever "people say": both arms of retrieval look for what is left. Only whole, unmistakable frames at an end of the
question are taken off, so that a customer's own sentence ("I want to complain about a fee") stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from feedback.domain.text import content_tokens

_PEOPLE_EN: Final = (
    r"(?:(?:our|the|your|any|some|most|many|more|these|those|other|all)\s+){0,2}"
    r"(?:people|customers?|users?|clients?|patients?|inpatients?|outpatients?|members?|guests?|visitors?|shoppers?|buyers?|"
    r"consumers?|travell?ers?|passengers?|students?|employees?|tenants?|residents?|subscribers?|callers?|players?|readers?|"
    r"viewers?|diners?|respondents?|reviewers?|commenters?|participants?|families|parents|they|anyone|anybody|everyone|"
    r"folks|others)"
)
_SAY_EN: Final = (
    r"(?:say|saying|said|think|thinking|thought|feel|felt|write|writing|wrote|written|report|reporting|reported|mention|mentioning|"
    r"mentioned|comment|commented|complain|complaining|complained|raise|raised|ask|asking|asked|tell|told|talk|talking|talked|"
    r"describe|described|rate|rated|view|like|liked|dislike|disliked|love|hate|praise|praised|criticise|criticised|"
    r"criticize|criticized|appreciate|enjoy|want|need|expect|suggest|make)"
)
_TOPIC_NOUN_EN: Final = (
    r"(?:comments?|feedback|complaints?|problems?|issues?|trouble|troubles|difficult(?:y|ies)|reviews?|remarks?|opinions?|views?|"
    r"thoughts?|concerns?|worries|praise|criticisms?|suggestions?|questions?|queries|experiences?|mentions?|statements?|"
    r"sentiment|attitudes?|reactions?)"
)
_ABOUT_EN: Final = (
    r"(?:about|on|with|of|regarding|concerning|around|over|towards?|relating\s+to|related\s+to|in\s+the\s+way\s+of|to)"
)

_FRAMES: Final = {
    "en": (
        rf"(?:so\s+)?what\s+(?:{_TOPIC_NOUN_EN}\s+)?(?:do|does|did|are|were|have|has|is|was|had)\s+{_PEOPLE_EN}\s+"
        rf"(?:have|had|been\s+)?\s*(?:{_SAY_EN}\s*)?(?:most\s+|best\s+|least\s+)?(?:{_ABOUT_EN}\s+)?",
        rf"(?:why|how|when|where|how\s+often|how\s+well)\s+(?:do|does|did|are|were|have|has|can|could|would)\s+{_PEOPLE_EN}\s+"
        rf"(?:{_SAY_EN}\s+)?(?:{_ABOUT_EN}\s+)?",
        rf"(?:do|does|did|are|were|have|has|is|was|can|could|would|will|should)\s+{_PEOPLE_EN}\s+(?:{_SAY_EN}\s+about\s+|ever\s+|really\s+)?",
        rf"who\s+(?:has\s+|have\s+)?(?:complained|complains|commented|comments|wrote|reported|said\s+something)\s+{_ABOUT_EN}\s+",
        rf"(?:(?:are|is|were|was)\s+there\s+)?(?:(?:any|all|some|the|recent|recurring|common|main|top|biggest)\s+){{0,3}}{_TOPIC_NOUN_EN}\s+{_ABOUT_EN}\s+",
        r"(?:what|how)\s+about\s+",
        r"what\s+(?:is|was|has\s+been|were|are|gets)\s+(?:being\s+)?(?:said|written|reported|raised|mentioned|the\s+(?:feedback|sentiment|opinion|verdict))\s+"
        rf"{_ABOUT_EN}\s+",
        r"(?:please\s+)?(?:tell|show|give)\s+(?:me|us)\s+(?:(?:an?|the|some|all|any|more|everything|something)\s+)?"
        rf"(?:(?:overview|summary|background|comments?|feedback|complaints?|records?|quick\s+summary)\s+)?{_ABOUT_EN}\s+",
        rf"(?:please\s+)?(?:summari[sz]e|list|find|show)\s+(?:me\s+)?(?:(?:all|the|any|what)\s+){{0,2}}{_TOPIC_NOUN_EN}\s+{_ABOUT_EN}\s+",
    ),
    "de": (
        r"(?:was|wie)\s+(?:sagen|denken|meinen|halten|berichten|schreiben|finden|bewerten|erzählen|bemängeln|kritisieren|loben|beurteilen)\s+"
        r"(?:(?:die|unsere|viele|manche)\s+)?(?:kund(?:en|innen)|leute|menschen|nutzer|anwender|patienten|gäste|mitglieder|besucher|käufer|befragten)\s+"
        r"(?:(?:über|zu|zum|zur|von|vom|an|am|mit)\s+)?(?:(?:der|die|das|den|dem)\s+)?",
        r"(?:gibt\s+es\s+)?(?:(?:die|alle|viele|welche)\s+)?(?:beschwerden|probleme|rückmeldungen|kommentare|meinungen|lob|kritik|ärger|schwierigkeiten|klagen|feedback)\s+"
        r"(?:über|zu|zum|zur|mit|bei|beim|wegen|an|am)\s+(?:(?:der|die|das|den|dem)\s+)?",
        r"was\s+ist\s+mit\s+(?:(?:der|die|das|den|dem)\s+)?",
        r"worüber\s+(?:beschweren|beklagen|ärgern)\s+sich\s+(?:die\s+)?(?:kund(?:en|innen)|leute|nutzer|patienten|gäste)\s+(?:bei|beim|am|an)\s+",
    ),
    "es": (
        r"[¿]?\s*qu[ée]\s+(?:dicen|opinan|piensan|comentan|cuentan|critican|elogian)\s+(?:(?:los|las|nuestros|nuestras|la)\s+)?"
        r"(?:clientes|pacientes|usuarios|usuarias|huéspedes|personas|gente|compradores|miembros|visitantes)\s+(?:del?|sobre|acerca\s+del?)\s+(?:(?:la|el|los|las)\s+)?",
        r"[¿]?\s*(?:(?:por\s+qué|de\s+qué)\s+)?se\s+quejan\s+(?:(?:los|las|nuestros)\s+)?(?:clientes|pacientes|usuarios|huéspedes|personas)\s+(?:del?|por|con)\s+(?:(?:la|el|los|las)\s+)?",
        r"[¿]?\s*(?:hay\s+)?(?:quejas|comentarios|problemas|opiniones|reclamaciones|reseñas|sugerencias)\s+(?:sobre|con|por|del?|acerca\s+del?)\s+(?:(?:la|el|los|las)\s+)?",
    ),
    "fr": (
        r"(?:que|qu['’]est-ce\s+que)\s+(?:disent|pensent|reprochent|racontent|les\s+clients\s+disent|les\s+clients\s+pensent)\s*"
        r"(?:(?:les|nos|des)\s+)?(?:(?:clients|patients|utilisateurs|gens|usagers|voyageurs|membres)\s+)?"
        r"(?:des?|du|de\s+la|de\s+l['’]|sur|à\s+propos\s+des?|au\s+sujet\s+des?)\s*(?:(?:la|le|les)\s+)?",
        r"(?:y\s+a-t-il\s+des\s+|(?:les|des|de)\s+)?(?:plaintes|commentaires|problèmes|avis|remarques|critiques|réclamations)\s+"
        r"(?:sur|concernant|avec|pour|à\s+propos\s+des?|au\s+sujet\s+des?)\s+(?:(?:la|le|les|l['’])\s*)?",
    ),
}
_PATTERNS: Final = {
    language: tuple(re.compile(rf"\s*{frame}", re.IGNORECASE) for frame in frames)
    for language, frames in _FRAMES.items()
}
# Chinese and Japanese put the frame round or behind the topic.
_AROUND: Final = {
    "ja": (
        re.compile(
            r"^(?P<topic>.+?)(?:について|に関して|に対して|に関する|についての)の?"
            r"(?:(?:お客様|お客さん|顧客|ユーザー|利用者|患者|人々|みんな|皆さん)(?:は|が|から|の))?"
            r"(?:何と|何を|どう|どのように|どんな|どのような)?(?:言って|思って|感じて|考えて|書いて|評価して)?(?:いますか|いるか|いる|ますか)?"
            r"(?:意見|苦情|コメント|声|評価|感想|フィードバック|不満|問題)?(?:が|は)?(?:ありますか|あるか)?[?？。]*$"
        ),
    ),
    "zh": (
        re.compile(
            r"^(?:客户|顾客|用户|患者|病人|人们|大家|消费者)(?:们)?(?:对|对于|关于|觉得|认为)(?P<topic>.+?)"
            r"(?:有什么|有哪些|有何|的)?(?:看法|意见|评价|反馈|投诉|抱怨|怎么看|怎么说|怎么评价|怎么样|如何|满意吗)[?？。]*$"
        ),
        re.compile(
            r"^(?:有没有|有哪些)?(?:关于|有关|对)(?P<topic>.+?)的?(?:评论|投诉|反馈|意见|抱怨|问题|评价)[?？。]*$"
        ),
    ),
}


def without_frame(question: str, *, language: str) -> str:
    """Return what a question is about: the question without its frame, or as it is where nothing would be left.

    Frames of English, German, Spanish, French, Japanese and Chinese are known; an English frame is also taken off
    in a question of an unknown language. What is quoted is never touched, since a frame ends before it.
    """
    for pattern in _AROUND.get(language, ()):
        if found := pattern.match(question.strip()):
            return _kept(found["topic"], question, language)
    for pattern in _PATTERNS.get(language, _PATTERNS["en"]):
        if found := pattern.match(question):
            return _kept(question[found.end() :], question, language)
    return question


def _kept(topic: str, question: str, language: str) -> str:
    return topic.strip() if content_tokens(topic, language) else question
