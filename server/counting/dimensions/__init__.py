"""The dimensions that `by:` can name: where the values of a field are in the database, and their labels.

dimension.py        the base class
dimension_names.py  resolves a name to a dimension
bin_options.py      parses `name@unit~n`
sources.py          columns, joined tables, custom values
date_bins.py        dates
plain.py            texts and numbers
linked_records.py   ids of records
pairs.py            pairs of context and id"""
