"""Rules: automations with a form, bound to the event ticket.event in their order.

rule_building.py  derives script, policy, name and binding from the form
rule_scan.py      finds the rules for events, and for time that has passed
rule_runs.py      runs them on one ticket, in order, and records why
rule_losses.py    switches off the rules that name a deleted record
rule_list.py      the rules as a list: order, on and off, what they would match, why not"""
