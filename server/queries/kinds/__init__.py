"""One file for each type of data query; frame.py loads all modules of this folder."""
