"""Lists of rows that are no records: where these come from, and the list as one visit sees it."""
