"""The languages that people are spoken to in. Source: ours."""

from server import resources, translation
from server.context import Service
from server.translation import Languages


def languages(service: Service) -> Languages:
    """Ours, and those of the data folder, which go before."""
    return Languages((service.settings.data / translation.FOLDER, resources.path(translation.FOLDER)))
