from django.apps import AppConfig


class JourneysConfig(AppConfig):
    name = "journeys"
