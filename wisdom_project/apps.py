from django.apps import AppConfig


class WisdomProjectConfig(AppConfig):
    name = "wisdom_project"
    verbose_name = "Wisdom"
