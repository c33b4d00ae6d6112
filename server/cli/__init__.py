"""The commands of the program. Commands for authors of KATA, templates and automations need no server and leave no
files.

    arguments.py  declares commands
    workspace.py  creates the store of offline commands when one needs it
    texts.py      reads and writes texts
    lines.py      reads many requests, one on each line

Every other module has one command, or a few that belong together; commands.py lists them."""
