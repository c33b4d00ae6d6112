"""Help with the language of searches: completions at the caret, corrections, terms as chips."""
