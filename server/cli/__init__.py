"""Commands. Those for who writes KATA, templates and automations need no server and leave nothing behind.

arguments.py  how a command is declared      workspace.py   the store that they run on, made when it is asked for
texts.py      files in, answers out          lines.py       many requests, one a line
kata.py script.py automation.py packages.py api.py describe.py licenses.py     one command each"""
