"""Rules: automations that are built by form and bound to the event ticket.event, in order.

rule_building.py  what follows from the form: script, policy, name, binding
rule_scan.py      finds the rules for what happened, and for time that has passed
rule_runs.py      runs them on one ticket, in order, and records why
rule_list.py      the rules as a list: order, on and off, what they would match, why not"""
