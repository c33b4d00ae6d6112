"""The results of worklist.subtotals: the counts (result.py) in each format of `format:`."""
