"""Packages: sets of records as one JSON document that can be imported, with questions to whoever imports it.

    document.py      the parts of a document      requirements.py  version and plugins
    prompts.py       answers to questions         placeholders.py  values that the package asks for itself
    substitution.py  {{{templates}}} in a package  sections.py     sections as records to make
    importing.py     all of it, in one transaction
    exporting.py     records as a document         bundle.py       the packages that come with the program

Source: Packages."""
