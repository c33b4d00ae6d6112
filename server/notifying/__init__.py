"""Notifications by mail: what workers are told reaches them as mail, and their answers to it know who they are from and
which ticket they are for. Taking in those answers is the mailroom's part."""
