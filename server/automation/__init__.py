"""Automations: scripts in KATA that react to events, timers and webhooks.

program.py   a script as a tree of commands     engine.py     runs it
inputs.py    what it may be given               policy.py     what it may do
commands/    one family a file                  host.py       what it reaches of the service
checker.py   mistakes before anything is saved"""
