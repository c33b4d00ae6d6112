"""The filters of the language. Each file is a family of filters, which registers when it is imported."""

from server.discovery import load_all

load_all(__name__, __path__)
