"""One file for each type of data query. frame.py finds them by looking into this folder."""
