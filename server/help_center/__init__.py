"""The help center: published articles, searches, votes, contact forms and files of visitors."""
