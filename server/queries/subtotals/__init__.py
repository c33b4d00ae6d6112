"""The answers of worklist.subtotals: what was counted (result.py) in each shape that `format:` names."""
