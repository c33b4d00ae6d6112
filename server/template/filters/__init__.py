"""The filters of the language. Each file is a family that registers by being imported; all are found here."""

from server.discovery import load_all

load_all(__name__, __path__)
