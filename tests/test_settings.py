"""Sources of settings, their precedence, and errors that prevent a start."""

from pathlib import Path

import pytest

from server.errors import Invalid
from server.settings import LIVE, SETTINGS, Settings, help_rows, load


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "helpdesk.toml"
    path.write_text(text, "utf-8")
    return path


def test_defaults_apply_when_nothing_is_said(tmp_path):
    settings = load({}, {}, tmp_path)
    assert (settings.host, settings.port, settings.data) == ("127.0.0.1", 8200, tmp_path)
    assert settings.open_browser is True and settings.trusted_hosts == ()


@pytest.mark.parametrize(
    ("flags", "environ", "file", "port"),
    [
        ({"port": "1"}, {"HELPDESK_PORT": "2"}, "port = 3", 1),
        ({"port": None}, {"HELPDESK_PORT": "2"}, "port = 3", 2),
        ({}, {}, "port = 3", 3),
        ({}, {}, "", 8200),
    ],
)
def test_flags_beat_variables_beat_file_beats_defaults(tmp_path, flags, environ, file, port):
    settings_file(tmp_path, file)
    assert load(flags, environ, tmp_path).port == port


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("open_browser", "no", False),
        ("open_browser", "TRUE", True),
        ("request_log", "0", False),
        ("write_batch", " 12 ", 12),
        ("trusted_proxies", "10.0.0.1, 10.0.0.2\n10.0.0.3", ("10.0.0.1", "10.0.0.2", "10.0.0.3")),
        ("mail_exclude_patterns", "/a{1,2}@x/\n\n*@noise.example", ("/a{1,2}@x/", "*@noise.example")),
        ("base_url", "https://desk.example/", "https://desk.example"),
        ("log_level", "debug", "debug"),
    ],
)
def test_text_of_flags_and_variables_becomes_a_value(tmp_path, name, text, value):
    assert getattr(load({name: text}, {}, tmp_path), name) == value
    assert getattr(load({}, {f"HELPDESK_{name.upper()}": text}, tmp_path), name) == value


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("open_browser = false", "open_browser", False),
        ('trusted_hosts = ["a.example", "b.example"]', "trusted_hosts", ("a.example", "b.example")),
        ('trusted_hosts = "a.example, b.example"', "trusted_hosts", ("a.example", "b.example")),
        ("max_mail_bytes = 1_000_000", "max_mail_bytes", 1_000_000),
    ],
)
def test_the_file_is_toml(tmp_path, file, name, value):
    settings_file(tmp_path, file)
    assert getattr(load({}, {}, tmp_path), name) == value


@pytest.mark.parametrize(
    ("flags", "environ", "file", "said"),
    [
        ({"prot": "1"}, {}, "", "'--prot'; did you mean 'port'?"),
        ({}, {"HELPDESK_PROT": "1"}, "", "'HELPDESK_PROT'; did you mean 'port'?"),
        ({}, {}, "prot = 1", "helpdesk.toml: there is no setting 'prot'; did you mean 'port'?"),
        ({}, {}, "[server]\nport = 1", "helpdesk.toml: there is no setting 'server'"),
        ({"port": "http"}, {}, "", "--port is 'http'; it must be a whole number"),
        ({"port": ""}, {}, "", "must be a whole number"),
        ({"port": "65536"}, {}, "", "from 0 to 65535"),
        ({"worker_threads": "0"}, {}, "", "--worker-threads is 0"),
        ({}, {"HELPDESK_OPEN_BROWSER": "maybe"}, "", "HELPDESK_OPEN_BROWSER is 'maybe'; it must be yes or no"),
        ({"log_level": "inof"}, {}, "", "did you mean 'info'?"),
        ({"base_url": "desk.example"}, {}, "", "--base-url is 'desk.example'"),
        (
            {"base_url": "https://example.org/desk"},
            {},
            "",
            "cannot be served below a path such as /desk. Give it a host",
        ),
        (
            {},
            {"HELPDESK_BASE_URL": "http://a.example/x/"},
            "",
            "HELPDESK_BASE_URL is 'http://a.example/x/'; the service",
        ),
        ({}, {}, "base_url = 'https://a.example/x'", "base_url is 'https://a.example/x'; the service cannot"),
        ({"base_url": "https://nora@desk.example"}, {}, "", "must be like https://desk.example"),
        ({"base_url": "https://desk.example:99999"}, {}, "", "must be like https://desk.example"),
        ({"base_url": "https://desk.example:https"}, {}, "", "must be like https://desk.example"),
        ({"webhook_base_url": "hooks"}, {}, "", "--webhook-base-url is 'hooks'"),
        ({"webhook_base_url": "http://127.0.0.1:99"}, {}, "", "has the host name of base_url, 127.0.0.1"),
        ({"webhook_base_url": "https://a.example.", "base_url": "https://A.example"}, {}, "", "give webhooks another"),
        ({"portal_base_url": "http://127.0.0.1:99"}, {}, "", "portal_base_url has the host name of base_url"),
        (
            {"portal_base_url": "https://a.example", "webhook_base_url": "https://A.example."},
            {},
            "",
            "portal_base_url has the host name of webhook_base_url, a.example; give the help center another",
        ),
        ({"portal_base_url": "https://help.example/en"}, {}, "", "the help center cannot be served below a path"),
        ({}, {}, 'port = "1"', "helpdesk.toml: port is '1'; it must be a whole number"),
        ({}, {}, "port = true", "must be a whole number"),
        ({}, {}, "open_browser = 1", "must be yes or no"),
        ({}, {}, "trusted_hosts = [1]", "must be a list of texts"),
        ({}, {}, "port =", "is not TOML"),
        ({}, {}, 'data = "elsewhere"', "'data' cannot be set"),
        ({"config": "missing.toml"}, {}, "", "no settings file 'missing.toml'"),
    ],
)
def test_what_cannot_be_understood_stops_the_start(tmp_path, flags, environ, file, said):
    settings_file(tmp_path, file)
    with pytest.raises(Invalid) as raised:
        load(flags, environ, tmp_path)
    assert said in raised.value.message


def test_the_console_cannot_move_to_the_host_of_webhooks(tmp_path):
    settings = load({"webhook_base_url": "https://hooks.example/in"}, {}, tmp_path)
    assert settings.webhook_host == "hooks.example"
    with pytest.raises(Invalid, match="give webhooks another host name"):
        settings.replace(base_url="https://hooks.example")


def test_other_variables_are_not_looked_at(tmp_path):
    assert load({}, {"PORT": "1", "HELP": "x"}, tmp_path).port == 8200


def test_a_named_file_replaces_the_one_in_the_data_folder_and_may_say_where_that_is(tmp_path):
    settings_file(tmp_path, "port = 1")
    other = tmp_path / "other.toml"
    other.write_text('port = 2\ndata = "elsewhere"', "utf-8")
    settings = load({"config": str(other)}, {})
    assert (settings.port, settings.data) == (2, Path("elsewhere"))


def test_the_file_is_looked_for_in_the_folder_that_flags_or_variables_name(tmp_path):
    settings_file(tmp_path, "port = 7")
    assert load({"data": str(tmp_path)}, {}).port == 7
    assert load({}, {"HELPDESK_DATA": str(tmp_path)}).port == 7


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8200"),
        ("0.0.0.0", "http://127.0.0.1:8200"),
        ("::", "http://[::1]:8200"),
        ("desk.example", "http://desk.example:8200"),
    ],
)
def test_base_url_follows_host_and_port(tmp_path, host, url):
    assert load({"host": host}, {}, tmp_path).base_url == url


def test_base_url_follows_the_port_that_was_free_unless_it_was_given(tmp_path):
    assert load({"port": "0"}, {}, tmp_path).replace(port=4711).base_url == "http://127.0.0.1:4711"
    fixed = load({"base_url": "https://desk.example"}, {}, tmp_path)
    assert fixed.replace(port=4711).base_url == "https://desk.example"


def test_settings_are_frozen_and_name_the_nearest(tmp_path):
    settings = load({}, {}, tmp_path)
    with pytest.raises(AttributeError, match="frozen"):
        settings.port = 1
    with pytest.raises(AttributeError, match="did you mean 'port'"):
        _ = settings.prot
    with pytest.raises(Invalid, match="did you mean 'port'"):
        settings.replace(prot=1)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_has_one_line_of_help_and_a_default_that_it_accepts(setting, tmp_path):
    assert setting.help.endswith(".") and "\n" not in setting.help
    assert setting.unit or setting.type != "whole"
    assert isinstance(load({}, {}, tmp_path).replace(**{setting.name: setting.default}), Settings)


def test_help_lists_every_setting_once():
    names = [row["name"] for row in help_rows()]
    assert names == [setting.name for setting in SETTINGS] and len(set(names)) == len(names)
    assert {"default", "unit", "help", "variable"} <= set(help_rows()[0])


def test_what_is_set_in_the_console_takes_the_place_of_defaults_and_of_nothing_else(tmp_path):
    settings = load({"port": "9000"}, {"HELPDESK_SUBJECT_PREFIX": "Desk"}, tmp_path)
    settings.lay_over({"subject_prefix": "Other", "subject_mask": True, "base_url": "https://desk.example", "port": 1})
    assert (settings.subject_prefix, settings.subject_mask, settings.port) == ("Desk", True, 9000)
    assert (settings.base_url, settings.local_url) == ("https://desk.example", "http://127.0.0.1:9000")
    assert settings.sources["subject_mask"] == "console" and settings.is_given("subject_prefix")
    assert not settings.is_given("subject_mask") and settings.replace(port=9001).base_url == "https://desk.example"
    settings.lay_over({})
    assert settings.subject_mask is False and settings.base_url == "http://127.0.0.1:9000"
    assert settings.sources == {"port": "command line", "subject_prefix": "HELPDESK_SUBJECT_PREFIX"}


def test_the_console_cannot_set_what_is_for_the_machine_to_say():
    # Settings for files and ports of the machine stay out: an administrator of the console may not administer the
    # machine. backup_folder can only be set to a folder inside the data folder: tests/console/test_backups.py.
    others = {"host", "port", "data", "trusted_proxies", "lmtp_socket", "lmtp_certificate"}
    assert not others & set(LIVE) and others <= {each.name for each in SETTINGS}
