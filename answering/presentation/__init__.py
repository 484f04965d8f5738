"""Turn an answer into what its page shows: sentences with their numbers, records with their marks, plain words."""

from answering.presentation.absence import Absence, shown_absence
from answering.presentation.answer import ShownAnswer, shown_answer
from answering.presentation.measure import (
    Basis,
    ShownDrift,
    drift_json,
    shown_drift,
    shown_stated,
    undated_text,
)
from answering.presentation.records import Card, listed, shown_documents
from answering.presentation.reviews import ShownReview, shown_review
from answering.presentation.words import (
    ACCOUNT_FORM,
    THEME_FORMS,
    Chip,
    chips,
    counted,
    points,
    question_about,
    set_chips,
    trace,
)

__all__ = [
    "ACCOUNT_FORM",
    "THEME_FORMS",
    "Absence",
    "Basis",
    "Card",
    "Chip",
    "ShownAnswer",
    "ShownDrift",
    "ShownReview",
    "chips",
    "counted",
    "drift_json",
    "listed",
    "points",
    "question_about",
    "set_chips",
    "shown_absence",
    "shown_answer",
    "shown_documents",
    "shown_drift",
    "shown_review",
    "shown_stated",
    "trace",
    "undated_text",
]
