"""The language of searches, helped and explained."""
