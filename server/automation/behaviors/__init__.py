"""Bot behaviors: stored trees of decisions and actions with typed variables, the older kind of automation.

    loading.py             loads a behavior and its bot from the database
    variables.py           reads and checks the variables of a run by their kind
    behavior_run.py        one run: the tree, the dictionary, the limits
    outcome_conditions.py  the conditions of outcomes
    action.py              declares actions
    actions/               one family per file
    behavior_service.py    runs in a service: permissions, the bot's rights, results, counts
    delayed_runs.py        runs that start later

The tree itself is parsed and checked in automation/behaviors/tree.py."""
