"""Who acts, and what they may do. Importing anything of it adds the rules of parents.py to those of rules.py."""

from server.access import parents

__all__ = ["parents"]
