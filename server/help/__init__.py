"""The help pages with a search over them, and words of other helpdesks."""
