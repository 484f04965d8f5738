from django.apps import AppConfig


class AnsweringConfig(AppConfig):
    name = "answering"
    verbose_name = "Questions and answers"
