"""`helpdesk completion`: completions for shells, and the man page, both generated from the parser of the command line.

No library is used, because argcomplete starts the program at each press of the key, and shtab supports neither
PowerShell nor man pages."""

import argparse
import re
from collections.abc import Callable, Iterator
from typing import Any

from server.cli import texts
from server.cli.commands import ABOUT, parser
from server.dataclass import dataclass
from server.settings import VERSION, help_rows

PROGRAM = "helpdesk"
FOLDERS, FILES = frozenset(("DIR",)), frozenset(("FILE", "PATH"))  # placeholders of arguments in help texts


@dataclass(frozen=True)
class Argument:
    """An option, or a positional argument if it has no flags. shown: the placeholder of its value, "" without a
    value."""

    flags: tuple[str, ...]
    shown: str
    about: str
    choices: tuple[str, ...]
    is_required: bool
    is_repeated: bool

    @property
    def kind(self) -> str:
        """The kind of its value: a folder, a file, or other."""
        if self.shown in FOLDERS:
            return "folder"
        is_file = self.shown in FILES or any(flag.endswith("-file") for flag in self.flags)
        return "file" if is_file else "other"


@dataclass(frozen=True)
class Subcommand:
    """A command. words: including the program's name. below: {name: description} of its subcommands."""

    words: str
    about: str
    arguments: tuple[Argument, ...]
    below: dict[str, str]

    @property
    def options(self) -> list[Argument]:
        return [each for each in self.arguments if each.flags]

    @property
    def places(self) -> list[Argument]:
        return [each for each in self.arguments if not each.flags]


def declare(commands: Any) -> None:
    about = ABOUT["completion"]
    completion = commands.add_parser(
        "completion",
        help=about,
        description=f"{about} For bash: source <(helpdesk completion bash). For zsh, "
        "as _helpdesk in a folder of $fpath. For fish: helpdesk completion fish | source. For PowerShell, in the "
        "profile: helpdesk completion powershell | Out-String | Invoke-Expression. The man page: helpdesk completion "
        "man > helpdesk.1",
    )
    completion.add_argument("shell", metavar="SHELL", choices=tuple(FORMS), help=", ".join(FORMS))
    completion.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    texts.put(FORMS[options.shell](list(walk(parser()))))


def walk(parser: argparse.ArgumentParser, words: str = PROGRAM) -> Iterator[Subcommand]:
    """Yields every command of a parser, itself first, in the order of declaration."""
    inner = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    below = {each.dest: each.help or "" for group in inner for each in group._choices_actions}
    arguments = tuple(_argument(each) for each in parser._actions if each not in inner)
    yield Subcommand(words, parser.description or "", arguments, below)
    for group in inner:
        for name, each in group.choices.items():
            yield from walk(each, f"{words} {name}")


def _argument(action: argparse.Action) -> Argument:
    takes_value = action.nargs != 0
    placeholder = str(action.metavar or action.dest.upper()) if takes_value else ""
    is_required = action.required if action.option_strings else action.nargs not in ("?", "*")
    return Argument(
        tuple(action.option_strings),
        placeholder,
        action.help or "",
        tuple(map(str, action.choices or ())),
        is_required,
        action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction),
    )


# -- shells ------------------------------------------------------------------------------------------------------------
# Each finds the command of the words so far: a word counts if it names a subcommand, and is not the value of an
# option.


def bash(commands: list[Subcommand]) -> str:
    """Returns a function for bash, and its registration."""
    lines = [f"# Completion of {PROGRAM} for bash; made by `{PROGRAM} completion bash`.", f"_{PROGRAM}() {{"]
    lines += [
        '    local current="${COMP_WORDS[COMP_CWORD]}" place="' + PROGRAM + '" word skips="" IFS=$\'\\n\'',
        "    COMPREPLY=()",
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '        if [ -n "$skips" ]; then skips=""; continue; fi',
        '        case "$place $word" in',
        *_pattern_lines("            ", _below(commands), 'place="$place $word"'),
        *_pattern_lines("            ", _valued(commands), 'skips="$place $word"'),
        "        esac",
        "    done",
        '    case "$skips" in',
        '        "") ;;',
    ]
    for _, each, names in _options_with_values(commands):
        lines += _pattern_lines("        ", names, f"{_bash_value(each)}; return")
    lines += ["    esac", '    case "$place" in']
    for command in commands:
        words = [*command.below, *_words_of_places(command), *_flags(command)]
        joined = "\\n".join(words)
        lines.append(f'        "{command.words}") COMPREPLY=($(compgen -W $\'{joined}\' -- "$current"))')
        if _takes(command, "file") or _takes(command, "folder"):
            action = "-f" if _takes(command, "file") else "-d"
            lines.append(f'            COMPREPLY+=($(compgen {action} -- "$current"))')
        lines.append("            ;;")
    return "\n".join([*lines, "    esac", "}", f"complete -o filenames -F _{PROGRAM} {PROGRAM}", ""])


def _bash_value(argument: Argument) -> str:
    if argument.choices:
        joined = "\\n".join(argument.choices)
        return f"COMPREPLY=($(compgen -W $'{joined}' -- \"$current\"))"
    flag = {"folder": "-d", "file": "-f"}.get(argument.kind)
    return f'COMPREPLY=($(compgen {flag} -- "$current"))' if flag else ":"


def zsh(commands: list[Subcommand]) -> str:
    """Returns a file for zsh, to be stored as _helpdesk in a folder of its fpath."""
    lines = [f"#compdef {PROGRAM}", f"# Completion of {PROGRAM} for zsh; made by `{PROGRAM} completion zsh`."]
    lines += [
        f"_{PROGRAM}() {{",
        f'    local place="{PROGRAM}" word skips=""',
        "    local -a below options",
        '    for word in "${(@)words[2,CURRENT-1]}"; do',
        '        if [[ -n "$skips" ]]; then skips=""; continue; fi',
        '        case "$place $word" in',
        *_pattern_lines("            ", _below(commands), 'place="$place $word"'),
        *_pattern_lines("            ", _valued(commands), 'skips="$place $word"'),
        "        esac",
        "    done",
        '    case "$skips" in',
        '        "") ;;',
    ]
    for _, each, names in _options_with_values(commands):
        lines += _pattern_lines("        ", names, f"{_zsh_value(each)}; return")
    lines += ["    esac", '    case "$place" in']
    for command in commands:
        below = [_zsh_item(name, about) for name, about in command.below.items()]
        below += [_zsh_item(choice, each.about) for each in command.places for choice in each.choices]
        options = [_zsh_item(flag, each.about) for each in command.options for flag in each.flags]
        lines += [f'        "{command.words}")', f"            below=({' '.join(below)})"]
        lines += [f"            options=({' '.join(options)})"]
        if _takes(command, "file") or _takes(command, "folder"):
            lines.append("            _files" if _takes(command, "file") else "            _files -/")
        lines.append("            ;;")
    lines += ["    esac", "    (( $#below )) && _describe -t commands command below"]
    lines += ['    [[ "$PREFIX" == -* || $#below -eq 0 ]] && _describe -o -t options option options', "}"]
    return "\n".join([*lines, f'_{PROGRAM} "$@"', ""])


def _zsh_item(name: str, about: str) -> str:
    text = f"{name}:{about}".replace("'", "'\\''")
    return f"'{text}'"


def _zsh_value(argument: Argument) -> str:
    if argument.choices:
        return f"compadd -- {' '.join(argument.choices)}"
    return {"folder": "_files -/", "file": "_files"}.get(argument.kind, "_message value")


def fish(commands: list[Subcommand]) -> str:
    """Returns the lines for fish."""
    subcommands = " ".join(f"'{name}'" for name in _below(commands))
    valued = " ".join(f"'{name}'" for name in _valued(commands))
    lines = [
        f"# Completion of {PROGRAM} for fish; made by `{PROGRAM} completion fish`.",
        f"function __{PROGRAM}_at --description 'Whether the words so far name this command'",
        f"    set -l place {PROGRAM}",
        "    set -l skips 0",
        "    set -l typed (commandline -opc)",
        "    for word in $typed[2..-1]",
        "        if test $skips -eq 1",
        "            set skips 0",
        f'        else if contains -- "$place $word" {subcommands}',
        '            set place "$place $word"',
        f'        else if contains -- "$place $word" {valued}',
        "            set skips 1",
        "        end",
        "    end",
        '    test "$place" = "$argv[1]"',
        "end",
        f"complete -c {PROGRAM} -f",
    ]
    for command in commands:
        at = f"complete -c {PROGRAM} -n \"__{PROGRAM}_at '{command.words}'\""
        lines += [f"{at} -a {name} -d {_fish_text(about)}" for name, about in command.below.items()]
        for each in command.places:
            lines += [f"{at} -a {choice} -d {_fish_text(each.about)}" for choice in each.choices]
        if _takes(command, "file") or _takes(command, "folder"):
            lines.append(f"{at} -F")
        lines += [f"{at} {_fish_option(each)}" for each in command.options]
    return "\n".join([*lines, ""])


def _fish_option(argument: Argument) -> str:
    names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in argument.flags]
    value: list[str] = []
    if argument.choices:
        value = [f"-x -a '{' '.join(argument.choices)}'"]
    elif argument.kind == "folder":
        value = ["-x -a '(__fish_complete_directories)'"]
    elif argument.shown:
        value = ["-r -F" if argument.kind == "file" else "-x"]
    return " ".join([*names, *value, f"-d {_fish_text(argument.about)}"])


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def powershell(commands: list[Subcommand]) -> str:
    """Returns a block for the profile of PowerShell, which completes file names by itself."""
    lines = [
        f"# Completion of {PROGRAM} for PowerShell; made by `{PROGRAM} completion powershell`.",
        f"Register-ArgumentCompleter -Native -CommandName {PROGRAM} -ScriptBlock {{",
        "    param($word, $ast, $cursor)",
        "    $offers = @{",
    ]
    for command in commands:
        offers = command.below | dict.fromkeys(_words_of_places(command), "")
        offers |= {flag: each.about for each in command.options for flag in each.flags}
        lines.append(f"        {_ps_text(command.words)} = [ordered]@{{")
        lines += [f"            {_ps_text(name)} = {_ps_text(about or name)}" for name, about in offers.items()]
        lines.append("        }")
    lines += ["    }", "    $values = @{"]
    for _, each, names in _options_with_values(commands):
        choices = ", ".join(map(_ps_text, each.choices))
        lines += [f"        {_ps_text(name)} = @({choices})" for name in names]
    return "\n".join(
        [
            *lines,
            "    }",
            f"    $place = '{PROGRAM}'",
            "    $option = ''",
            "    foreach ($each in ($ast.CommandElements | Select-Object -Skip 1)) {",
            "        if ($each.Extent.EndOffset -ge $cursor) { break }",
            '        $next = "$place $each"',
            "        if ($option) { $option = '' }",
            "        elseif ($offers.ContainsKey($next)) { $place = $next }",
            "        elseif ($values.ContainsKey($next)) { $option = $next }",
            "    }",
            "    if ($option) {",
            '        $values[$option] | Where-Object { $_ -like "$word*" }',
            "    } else {",
            '        $offers[$place].GetEnumerator() | Where-Object { $_.Key -like "$word*" } | ForEach-Object {',
            (
                "            [System.Management.Automation.CompletionResult]::new("
                "$_.Key, $_.Key, 'ParameterValue', $_.Value)"
            ),
            "        }",
            "    }",
            "}",
            "",
        ]
    )


def _ps_text(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _below(commands: list[Subcommand]) -> list[str]:
    """Returns the words of every subcommand."""
    return [f"{command.words} {name}" for command in commands for name in command.below]


def _options_with_values(commands: list[Subcommand]) -> list[tuple[Subcommand, Argument, list[str]]]:
    """Returns options with a value, each with its command and all its names prefixed by the command's words."""
    return [
        (command, each, [f"{command.words} {flag}" for flag in each.flags])
        for command in commands
        for each in command.options
        if each.shown
    ]


def _valued(commands: list[Subcommand]) -> list[str]:
    return [name for _, _, names in _options_with_values(commands) for name in names]


def _pattern_lines(indent: str, names: list[str], action: str) -> list[str]:
    """Returns the branch of a `case` for these names."""
    if not names:
        return []
    patterns = "|".join(f'"{name}"' for name in names)
    return [f"{indent}{patterns}) {action} ;;"]


def _flags(command: Subcommand) -> list[str]:
    return [flag for each in command.options for flag in each.flags]


def _words_of_places(command: Subcommand) -> list[str]:
    return [choice for each in command.places for choice in each.choices]


def _takes(command: Subcommand, kind: str) -> bool:
    return any(each.kind == kind for each in command.places)


# -- the man page ------------------------------------------------------------------------------------------------------

EXIT_CODES = {
    "0": "Done.",
    "1": "Refused or failed; the reason is on standard error.",
    "2": "The command line is invalid.",
}


def man(commands: list[Subcommand]) -> str:
    """Returns the man page, in the macros of man(7)."""
    top, *rest = commands
    name = PROGRAM.upper()
    lines = [f'.TH {name} 1 "" "Helpdesk {VERSION}" "User Commands"', ".SH NAME"]
    lines += [
        f"{PROGRAM} \\- {_roff('a helpdesk service: mail becomes tickets')}",
        ".SH SYNOPSIS",
        f".B {PROGRAM}",
        r"\fICOMMAND\fR [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        _roff(top.about),
    ]
    lines.append(".SH COMMANDS")
    for command in rest:
        if not command.below:
            lines += _man_command(command)
    lines += [".SH EXIT STATUS", *(line for code, about in EXIT_CODES.items() for line in _man_item(code, about))]
    lines += [
        ".SH ENVIRONMENT",
        _roff(
            "Each is a setting; in helpdesk.toml in the data folder its name is written in "
            "small letters and without HELPDESK_."
        ),
    ]
    for row in help_rows():
        default = row["default"].replace("\n", ", ")
        lines += _man_item(row["variable"], f"{row['help']} {f'Default: {default}' if default else ''} ({row['unit']})")
    lines += [".SH FILES"]
    for file, about in (("helpdesk.db", "The database: all data."), ("helpdesk.toml", "Optional settings.")):
        lines += _man_item(f"DATA/{file}", about)
    return "\n".join([*lines, ""])


def _man_command(command: Subcommand) -> list[str]:
    arguments = [each for each in command.arguments if "-h" not in each.flags]
    usage = [f"\\fB{_roff(command.words)}\\fR", *map(_man_usage, arguments)]
    lines = [f'.SS "{_roff(command.words.partition(" ")[2])}"', " ".join(usage), ".PP", _roff(command.about)]
    for each in arguments:
        value = f" {each.shown}" if each.flags and each.shown else ""
        lines += _man_item(", ".join(each.flags) + value if each.flags else each.shown, each.about)
    return lines


def _man_usage(argument: Argument) -> str:
    value = f"\\fI{_roff(argument.shown)}\\fR" if argument.shown else ""
    text = f"\\fB{_roff(argument.flags[-1])}\\fR {value}".strip() if argument.flags else value
    text += " ..." if argument.is_repeated else ""
    return text if argument.is_required else f"[{text}]"


def _man_item(name: str, about: str) -> list[str]:
    return [".TP", f".B {_roff(name)}", _roff(about)]


def _roff(text: str) -> str:
    r"""Escapes plain text for roff.

    >>> print(_roff("--json \\n"), _roff(".TH"), _roff("it's"))
    \-\-json \en \&.TH it\(aqs
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    return re.sub(r"^\.", r"\\&.", " ".join(escaped.split()), flags=re.MULTILINE)


FORMS: dict[str, Callable[[list[Subcommand]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
    "powershell": powershell,
    "man": man,
}
