"""The functions of the language. Each file is a family of functions, which registers when it is imported."""

from server.discovery import load_all

load_all(__name__, __path__)
