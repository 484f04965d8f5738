"""Reads of the corpus."""
