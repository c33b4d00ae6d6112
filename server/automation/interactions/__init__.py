"""Interactions: automations that a worker starts from a workspace page, and that may ask for values in forms.

interaction_offers.py  what a widget offers, from its KATA
interaction_form.py    the form that an automation asks for, and the values that were entered
interaction_runs.py    starts, continues and stores runs"""
