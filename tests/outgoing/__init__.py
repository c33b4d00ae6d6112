"""Tests of outgoing webhooks."""
