"""Measure what an answer leads with, and the points that it makes."""

from answering.facts.findings import Findings, findings_of
from answering.facts.lead import aggregate, topic, topic_facets

__all__ = ["Findings", "aggregate", "findings_of", "topic", "topic_facets"]
