"""Series of metrics over time.

ticks.py         the steps of the axis, and the size of the bins to read
choosing.py      `query:` on dimensions
tick_samples.py  reads samples and sums them by tick
splitting.py     one series for each value of a dimension"""
