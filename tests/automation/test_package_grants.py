"""The lists that describe the permissions of a package's automations contain only existing names."""

from server.automation import commands, package_grants, saving
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.command import COMMANDS


def test_read_only_commands_and_actions_exist_and_change_nothing() -> None:
    commands.load()
    actions.load()
    for name in package_grants.READING_COMMANDS | package_grants.UNAVAILABLE_COMMANDS:
        assert COMMANDS[name].governed and not COMMANDS[name].effects, name
    for name in package_grants.READING_ACTIONS:
        assert not ACTIONS[name].effects, name


def test_each_registered_type_has_a_description() -> None:
    assert set(saving.GRANTING) == set(package_grants._DESCRIBERS)
