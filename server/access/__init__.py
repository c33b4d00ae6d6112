"""Actors and their rights."""
