"""Workspace pages: tabs of charts, numbers, lists and texts, which packages bring and teams build."""
