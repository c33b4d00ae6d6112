"""Dimensions and samples of metrics. record_types/metric.py declares metrics; records/metrics/ writes samples."""
