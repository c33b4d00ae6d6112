"""Endpoints of one record type each, beside the records API: scripts of this API family still call them. Thin: the
records engine does the work. Fields stand at the top level of the form.

    families.py   which types have which of them     single.py   one record: read, create, change, delete
    search.py     criteria, order, pages             further.py  what only some types have: notes, snippets, fields"""
