"""The scripts that build the executable, without building it: checksums, signing, licences, and errors.

CI builds it twice and tries it (build/smoke.py)."""

import ast
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from server import late_files

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> ModuleType:
    """A script of build/, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "build" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


late_archive = script("late_archive")
system_licenses = script("system_licenses")
symbols = script("symbols")


@pytest.fixture
def make_exe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """build/make_exe.py in a separate folder."""
    found = script("make_exe")
    monkeypatch.setattr(found, "ROOT", tmp_path)
    return found


def test_the_sum_is_written_as_sha256sum_reads_it(make_exe: ModuleType, tmp_path: Path, capsys) -> None:
    (tmp_path / "helpdesk").write_bytes(b"abc")
    make_exe.report(tmp_path / "helpdesk")
    expected = hashlib.sha256(b"abc").hexdigest()
    assert (tmp_path / "SHA256SUMS").read_bytes() == f"{expected}  helpdesk\n".encode()
    assert expected in capsys.readouterr().out


def test_an_executable_that_became_too_large_stops_the_build(make_exe: ModuleType, tmp_path: Path) -> None:
    with (tmp_path / "helpdesk").open("wb") as file:
        file.truncate(make_exe.MAX_EXECUTABLE_BYTES + 1)
    with pytest.raises(SystemExit, match="more than 41,943,040 bytes"):
        make_exe.report(tmp_path / "helpdesk")


def test_two_builds_that_differ_stop_it(make_exe: ModuleType, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    make_exe.require_same(one, one)
    with pytest.raises(SystemExit, match="differ"):
        make_exe.require_same(one, other)


def test_packages_that_are_not_those_of_setup_stop_it(make_exe: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('setup(install_requires=["tornado>=6", "brand-new"])')
    with pytest.raises(SystemExit, match="make dist"):
        make_exe.require_packages()


# -- installed packages


def pinned(file: str) -> dict[str, tuple[str, str, int]]:
    """{name: (version, marker or "", number of hashes)} of a file in build/requirements/."""
    text = (ROOT / "build" / "requirements" / file).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    read = [re.fullmatch(r"([^=\s]+)==(\S+)(?: ; (.*?))?((?: +--hash=sha256:[0-9a-f]{64})+) *", line) for line in lines]
    assert all(read), [line for line, found in zip(lines, read, strict=True) if not found]
    return {found[1]: (found[2], found[3] or "", found[4].count("--hash")) for found in read if found}


def test_everything_that_setup_asks_for_is_pinned_with_its_hashes_and_is_what_is_tested() -> None:
    run, dev = pinned("run.txt"), pinned("dev.txt")
    assert run.items() <= dev.items()
    asked = [Requirement(each) for each in metadata.requires("helpdesk") or []]
    assert {"tornado", "pytest", "pyinstaller"} <= {each.name for each in asked}
    for each in asked:
        is_of_run = each.marker is None
        version, _, _ = (run if is_of_run else dev)[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each}: {version} is pinned; run make lock"
    for name, (version, marker, _) in dev.items():
        if not marker or Marker(marker).evaluate():
            assert metadata.version(name) == version, f"{name}: make test installs what is pinned"


def test_nothing_is_installed_without_hashes() -> None:
    for name in ("Makefile", "build/Dockerfile", "build/PLATFORMS.md"):
        text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
        for line in re.findall(r"^.*(?:pip install|\(INSTALL\) ).*$", text, re.MULTILINE):
            for step in line.split("&&"):
                is_asked = re.search(r"pip install|\(INSTALL\) ", step) and "INSTALL :=" not in step
                # The tools that pin packages are not themselves part of the product.
                assert not is_asked or re.search("--require-hashes|--no-deps| uv$", step), step


def test_a_signing_command_gets_the_path_and_its_failure_stops_the_build(
    make_exe: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    signed = tmp_path / "my helpdesk"
    signed.write_bytes(b"abc")
    make_exe.sign(signed)
    assert signed.read_bytes() == b"abc"
    appends = "import sys; open(sys.argv[2], 'ab').write(sys.argv[1].encode())"
    monkeypatch.setenv("SIGN_WITH", f'"{sys.executable}" -c "{appends}" signature')
    make_exe.sign(signed)
    assert signed.read_bytes() == b"abcsignature"
    monkeypatch.setenv("SIGN_WITH", f'"{sys.executable}" -c "raise SystemExit(3)"')
    with pytest.raises(SystemExit, match="is not signed"):
        make_exe.sign(signed)


def test_libraries_of_the_system_are_told_and_those_of_python_are_not(tmp_path: Path) -> None:
    own = Path(sysconfig.get_path("platlib")) / "re2" / "_re2.so"
    files = [tmp_path / "libz.so.1", tmp_path / "libssl.so.3", tmp_path / "libcrypto.so.3"]
    told = system_licenses.text([(each.name, str(each)) for each in [*files, own]])
    assert "zlib: libz.so.1\nLicence: Zlib\n" in told
    assert "OpenSSL: libcrypto.so.3, libssl.so.3\nLicence: Apache-2.0\n" in told
    assert "_re2" not in told


def test_a_library_with_an_unknown_licence_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"libmystery\.so\.1 would be packed"):
        system_licenses.text([("libmystery.so.1", str(tmp_path / "libmystery.so.1"))])


def test_only_libraries_of_python_lose_their_symbols(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(symbols.sys, "platform", "linux")
    monkeypatch.setattr(symbols.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(symbols.subprocess, "run", run)
    of_python = ("libpython3.11.so.1.0", "/usr/lib/libpython3.11.so.1.0", "BINARY")
    of_library = ("lib-dynload/_json.so", str(Path(os.__file__).parent / "lib-dynload" / "_json.so"), "EXTENSION")
    of_package = ("apsw/x.so", str(Path(sysconfig.get_path("platlib")) / "apsw" / "x.so"), "EXTENSION")
    found = symbols.without([of_python, of_library, of_package], tmp_path / "stripped")
    assert found == [
        (of_python[0], str(tmp_path / "stripped" / of_python[0]), "BINARY"),
        (of_library[0], str(tmp_path / "stripped" / "_json.so"), "EXTENSION"),
        of_package,
    ]
    assert [each[-1] for each in asked] == [of_python[1], of_library[1]]
    monkeypatch.setattr(symbols.shutil, "which", lambda name: None)
    assert symbols.without([of_python], tmp_path) == [of_python]


def test_what_is_unpacked_late_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    help_page, library = tmp_path / "index.md", tmp_path / "x.so"
    help_page.write_text("# Help")
    library.write_bytes(b"\x7fELF")
    page = ("resources/help/index.md", str(help_page), "DATA")
    of_encryption = ("cryptography/x.so", str(library), "EXTENSION")
    word_list, other = ("resources/languages/de.po", str(help_page), "DATA"), ("apsw/x.so", str(library), "EXTENSION")
    kept, late = late_archive.split([page, of_encryption, word_list, other])
    on_linux = sys.platform == "linux"  # other libraries are packed as usual
    wanted = [page, of_encryption] if on_linux else [page]
    assert late == wanted
    assert kept == [each for each in (page, of_encryption, word_list, other) if each not in wanted]
    made = [Path(late_archive.archive(order, tmp_path / name)[1]) for name, order in (("a", late), ("b", late[::-1]))]
    assert made[0].read_bytes() == made[1].read_bytes()
    zones = [Path(late_archive.zones(tmp_path / name)[1]).read_bytes() for name in ("c", "d")]
    assert zones[0] == zones[1]
    with zipfile.ZipFile(tmp_path / "c") as archive:
        assert {"tzdata/__init__.py", "tzdata/zones", "tzdata/zoneinfo/Europe/Berlin"} <= set(archive.namelist())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
def test_what_killed_executables_left_is_removed_by_the_next_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import fcntl

    folders = {name: tmp_path / f"_MEI{name}" for name in ("own", "killed", "running", "unknown")}
    for folder in folders.values():
        (folder / "resources").mkdir(parents=True)
        (folder / "resources" / "page.html").write_text("a page")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "_MEIlink").symlink_to(tmp_path / "elsewhere")
    for name in ("killed", "running"):
        (folders[name] / late_files.HELD).touch()
    (tmp_path / "elsewhere" / late_files.HELD).touch()
    monkeypatch.setattr(sys, "_MEIPASS", str(folders["own"]), raising=False)
    with (folders["running"] / late_files.HELD).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        late_files.install()
        late_files.remove_left_folders()
        late_files.remove_left_folders()
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"_MEIown", "_MEIrunning", "_MEIunknown", "_MEIlink", "elsewhere"}
    assert (folders["own"] / late_files.HELD).exists() and (tmp_path / "elsewhere" / late_files.HELD).exists()


# Modules and attributes of modules that are missing on Windows or macOS.
OF_ONE_SYSTEM = {"fcntl", "grp", "msvcrt", "posix", "pwd", "resource", "syslog", "termios", "tty", "winreg"}
ATTRIBUTES = {
    "os": {"chown", "fdatasync", "fork", "forkpty", "geteuid", "getloadavg", "getpgid", "getuid", "initgroups",
           "killpg", "mkfifo", "O_DIRECTORY", "O_NOFOLLOW", "posix_fadvise", "posix_fallocate", "pread", "pwrite",
           "sendfile", "setsid", "setuid", "statvfs", "sync", "uname", "wait", "waitpid"},
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "alarm"},
    "socket": {"AF_UNIX", "SO_REUSEPORT"},
    "time": {"tzset"},
}  # fmt: skip
OF_LOOPS = {"add_signal_handler", "create_unix_server", "create_unix_connection"}  # not in the loop of Windows
NAMES = OF_LOOPS.union(*ATTRIBUTES.values())
MISSING = "except (NotImplementedError|ImportError):"
WORDS = re.compile(rf"\b({'|'.join([*OF_ONE_SYSTEM, *NAMES])})\b|/proc|/dev/")  # of sources that are worth parsing
GUARDS = ("os.name", "sys.platform", "hasattr(", "_is_unix(", "IS_WINDOWS")


def unguarded(source: str) -> list[str]:
    """Uses of system-specific features without a check for them and without a fallback."""
    if not WORDS.search(source):
        return []
    tree = ast.parse(source)
    found = [(node, name) for node in ast.walk(tree) if (name := _of_one(node))]
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)} if found else {}

    def is_guarded(node: ast.AST) -> bool:
        while (outer := above.get(node)) is not None:
            if isinstance(outer, (ast.If, ast.IfExp)) and any(each in ast.unparse(outer.test) for each in GUARDS):
                return True
            if isinstance(outer, ast.Try) and re.search(MISSING, " ".join(map(ast.unparse, outer.handlers))):
                return True
            node = outer
        return False

    return [f"line {getattr(node, 'lineno', 0)}: {name}" for node, name in found if not is_guarded(node)]


def _of_one(node: ast.AST) -> str:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        names = [module] if module else [each.name for each in node.names]
        return next((name for name in names if name in OF_ONE_SYSTEM), "")
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        owner = ast.unparse(node.value)
        if node.attr in ATTRIBUTES.get(owner, ()) or node.attr in OF_LOOPS:
            return f"{owner}.{node.attr}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("/proc", "/dev/")):
        return node.value
    return ""


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import fcntl", 1), ("import os\nos.fork()", 1), ("import signal\nsignal.signal(signal.SIGHUP, f)", 1),
        ("open('/proc/self/status')", 1), ("loop.add_signal_handler(1, f)", 1),
        ("import os\nif os.name == 'nt':\n    import msvcrt\nelse:\n    import fcntl", 0),
        ("try:\n    loop.add_signal_handler(1, f)\nexcept NotImplementedError:\n    pass", 0),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", 0),
        ("if hasattr(signal, 'SIGHUP'):\n    loop.add_signal_handler(signal.SIGHUP, f)", 0),
    ],
)  # fmt: skip
def test_calls_of_one_system_are_found(source: str, count: int) -> None:
    assert len(unguarded(source)) == count


def test_nothing_is_asked_of_the_system_that_another_one_lacks() -> None:
    """The executable can then be built for Windows and macOS as well (build/PLATFORMS.md)."""
    sources = [path for top in ("server", "console") for path in sorted((ROOT / top).rglob("*.py"))]
    found = {str(path): told for path in sources if (told := unguarded(path.read_text("utf-8")))}
    assert found == {}


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("Returns the id, or None for an unknown name.", 0),
        ("The caller who may read it, and those that wait.", 1),
        ("Answers the id. What is kept is told anew.", 4),
        ("# of a text that is read", 1),
        ("# characters of a text", 0),
    ],
)
def test_style_marks_sentences_that_read_as_translated(sentence: str, count: int) -> None:
    style = script("style")
    assert sum(len(pattern.findall(sentence)) for pattern in style.SENTENCES.values()) == count


def test_style_marks_names_that_say_nothing() -> None:
    tree = ast.parse("def of(told):\n    found = [kept for kept in told]\n    rows = found\n")
    assert sorted(name for _, name in script("style").vague_names(tree)) == ["found", "kept", "of()", "told"]


def test_a_room_with_many_marks_is_crowded() -> None:
    style = script("style")
    assert style.Room(words=1000, lines=1000, sentences=11).is_crowded
    assert style.Room(words=1000, lines=1000, names=26).is_crowded
    assert not style.Room(words=1000, lines=1000, sentences=10, names=25).is_crowded
    assert not style.Room(words=100, lines=1000, sentences=100).is_crowded  # too few words to judge
