"""Helpers of several families of filters and functions: texts and bytes, JSON, XML, dates, rounding, wildcards."""
