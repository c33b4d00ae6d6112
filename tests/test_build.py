"""The scripts that make the executable, without making it: sums, signing, licences, and what stops them.

CI makes it, twice, and takes a walk with it (build/smoke.py)."""

import hashlib
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> ModuleType:
    """A script of build/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "build" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


system_licenses = script("system_licenses")
symbols = script("symbols")


@pytest.fixture
def make_exe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """build/make_exe.py, in a folder of its own."""
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


def test_a_library_whose_licence_nobody_knows_stops_the_build(tmp_path: Path) -> None:
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
    of_package = ("apsw/x.so", str(Path(sysconfig.get_path("platlib")) / "apsw" / "x.so"), "EXTENSION")
    found = symbols.without([of_python, of_package], tmp_path / "stripped")
    assert found == [(of_python[0], str(tmp_path / "stripped" / of_python[0]), "BINARY"), of_package]
    assert [each[-1] for each in asked] == [of_python[1]]
    monkeypatch.setattr(symbols.shutil, "which", lambda name: None)
    assert symbols.without([of_python], tmp_path) == [of_python]
