"""Pages by which records come in as files."""
