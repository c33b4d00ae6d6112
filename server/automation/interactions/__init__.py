"""Interactions: automations that a worker starts from a workspace page or a board; they may ask for values in forms.

interaction_offers.py  what a widget or a column offers, from its KATA
toolbar_schema.py      which KATA a toolbar may have
interaction_form.py    the form that an automation asks for, and the values that were entered
interaction_runs.py    starts, continues and stores runs"""
