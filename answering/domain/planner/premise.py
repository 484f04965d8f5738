"""Tell whether a question takes an event for granted, by its grammar."""

from __future__ import annotations

import re
from typing import Final

from feedback.domain.text import fold

_FIRST_VERB: Final = re.compile(
    r"\b(?:(?P<past>did|was|were|had|has|have|couldn't|wasn't|weren't|didn't|wurden?|war|waren|hat|haben|fue|fueron|hubo|ha|han)|"
    r"do|does|is|are|would|should|could|can|will|may|might|must|wird|werden|ist|sind|kann|es|son|está|están)\b",
    re.IGNORECASE,
)
_REASONS: Final = re.compile(
    r"\b(?:why|reasons?|causes?|when|after|warum|wieso|weshalb|gründe?|als|nachdem|por\s+qué|motivos?|cuando|después)\b",
    re.IGNORECASE,
)


def supposes_an_event(question: str) -> bool:
    """Tell whether a question asks for the reasons or the effects of something that it says has happened.

    Its first verb is in the past, and it asks why, or names when: "Why was the app removed?", "How were people
    affected when …?". "Would people like …?" and "Which class should I choose after …?" take nothing for granted.
    """
    verb = _FIRST_VERB.search(question)
    return bool(verb and verb["past"] and _REASONS.search(fold(question)))
