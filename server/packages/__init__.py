"""Packages: sets of records as one JSON document that can be imported, with prompts for the importer.

document.py         the parts of a document           requirements.py     version and plugins
prompts.py          answers to prompts                placeholders.py     values that the package looks up itself
substitution.py     {{{templates}}} in a package      sections.py         sections as records to create
preparing.py        what is done before the write     making.py           the write, in one transaction
importing.py        both, or a dry run                grants.py           what a package lets people and programs do
additions.py        entries of events, settings       changing.py         an update of what an import made
baselines.py        what the last import left         shown_values.py     values as an update shows them
exporting.py        records as a document             record_exporter.py  a record as an entry
exported_types.py   the types that are exported       secret_texts.py     secrets in scripts and settings
text_references.py  ids in scripts and searches       bundle.py           the packages that come with the program
library.py          past imports                      results.py          results until their page was seen"""
