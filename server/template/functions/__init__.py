"""Families, each a file here."""
