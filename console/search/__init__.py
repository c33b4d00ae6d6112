"""Help with the language of searches: completion, corrections, chips; and the pages of the help."""
