"""Automations: scripts in KATA that react to events, timers and webhooks.

program.py  a script as a tree of commands
engine.py   runs it
inputs.py   declared inputs and their check
policy.py   which commands it may run
commands/   one family per file
host.py     what it reaches in the service
checker.py  finds mistakes before a save"""
