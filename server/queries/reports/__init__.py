"""Reports: how the desk performed in a range of days, as tables of figures that each name the search for their records.

ranges.py       the days of a report, those before, and the steps of its time axis
range_count.py  reads the records of a range once for several counts
field_values.py counts the records of a range by tags and custom fields, which are read once
figures.py      counts and response times of searches, by the values of a field
tables.py       the tables of figures that each report consists of
report.py       runs a report, and writes it as a dictionary"""
