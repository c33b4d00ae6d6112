"""Bot behaviors: stored trees of decisions and actions with typed variables, the older kind of automation.

    loading.py      a behavior and its bot, out of the database
    variables.py    what a run is given: each kind of variable, read and checked
    run.py          one run: the tree, the dictionary, the limits
    conditions.py   what outcomes ask
    action.py       what an action is                actions/     one family a file
    service.py      runs in a service: who may, what the bot reaches, what is answered and counted
    schedule.py     runs that begin later

The tree itself is read and checked in automation/behaviors/tree.py."""
