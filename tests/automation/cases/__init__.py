"""Scripts and how they end, one family a file. case.py says what a case holds."""
