"""Use cases of the corpus. Only these modules write documents, passages, vectors and terms."""
