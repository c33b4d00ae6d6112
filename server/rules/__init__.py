"""Rules: what happens on a ticket when, as a form describes it. Translates forms into automations; runs nothing.

steps.py  what a rule or a macro does, one declaration each, with its KATA"""
