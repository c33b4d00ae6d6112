"""What metrics are made of: their dimensions, and their samples by time. The declaration is records/metric.py; what is
measured is in records/metrics/."""
