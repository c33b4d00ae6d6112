"""Endpoints of one record type each, next to the records API, since scripts of this API family still call them. The
record engine does the work. Fields are at the top level of the form.

    families.py  which types have which of these endpoints
    single.py    one record: read, create, change, delete
    search.py    criteria, order, pages
    further.py   what only some types have: notes, snippets, fields"""
