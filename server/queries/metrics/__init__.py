"""Series of metrics over time.

ticks.py     the steps of the axis, and the size of bins to read     choosing.py   `query:` on dimensions
samples.py   samples out of the database, added up by tick           splitting.py  one series for each value"""
