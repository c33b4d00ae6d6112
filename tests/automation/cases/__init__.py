"""Scripts with the expected end of their run, one family per file. case.py describes the fields of a case."""
