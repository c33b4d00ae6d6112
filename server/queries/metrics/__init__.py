"""Series of metrics over time.

ticks.py steps of the axis, and the size of bins to read choosing.py `query:` on dimensions samples.py reads samples and
sums them by tick splitting.py one series per dimension value"""
