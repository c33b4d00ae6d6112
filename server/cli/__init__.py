"""The commands of the program. Those for authors of KATA, templates and automations need no server and leave no files.

arguments.py  declarations of commands        workspace.py   the store of offline commands, created when needed
texts.py      reads and writes texts          lines.py       many requests, one per line
kata.py script.py automation.py packages.py api.py describe.py licenses.py     one command each"""
