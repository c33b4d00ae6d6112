"""What `by:` can name: where a field's values stand in the database, and what they are called in answers.

options.py  name@unit~n        sources.py   columns, tables between, custom values
base.py     what all share     resolve.py   a name becomes a dimension
dates.py    plain.py   records.py   pairs.py   types.py   one kind of field each"""
