"""What several families of filters and functions share: texts and bytes, JSON, XML, dates, rounding, wildcards."""
