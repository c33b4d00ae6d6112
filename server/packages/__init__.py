"""Packages: sets of records as one JSON document that can be imported, with prompts for the importer.

package_document.py   the parts of a document
requirements.py       version and plugins
prompts.py            answers to prompts
configured_values.py  values that the package computes
substitution.py       {{{templates}}} in a package
sections.py           sections as records to create
preparing.py          work before the transaction
record_creation.py    the transaction
additions.py          entries of events, settings
changing.py           updates of imported records
baselines.py          digests of the last import
shown_values.py       values as an update displays them
package_export.py     records as a document
record_exporter.py    a record as an entry
exported_types.py     the types that are exported
secret_texts.py       secrets in scripts and settings
text_references.py    ids in scripts and searches
bundle.py             the packages of the program
library.py            past imports
results.py            results until their page is opened
import_report.py      an import as people read it"""
