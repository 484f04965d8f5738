"""Addresses of asking, of answers, of the records behind a number, and of claims that wait for a decision."""

from __future__ import annotations

from django.urls import path

from answering import views

urlpatterns = [
    path("", views.ask_page, name="ask"),
    path("answers/<uuid:run_id>", views.answer_page, name="answer"),
    path("measures/<str:query_id>", views.measure_page, name="measure"),
    path("reviews/", views.reviews_page, name="reviews"),
    path("reviews/decide", views.decide, name="review-decide"),
]
