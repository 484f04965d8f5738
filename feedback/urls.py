"""Addresses of records."""

from __future__ import annotations

from django.urls import path

from feedback import views

urlpatterns = [
    path("clusters/unmerge", views.unmerge, name="unmerge"),
    path("clusters/reset", views.reset, name="reset"),
    # An id is whatever its sender uses: slashes are part of it.
    path("records/<path:doc_id>", views.record_page, name="record"),
]
