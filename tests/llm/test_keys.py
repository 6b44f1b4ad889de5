"""Keys: where they come from, and where they are never seen."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from madang.core.errors import SetupError
from madang.llm import keys as keys_module
from madang.llm.keys import KeyStore

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "_keyring", lambda: None)


class FakeKeyring:
    """A keyring in memory, with the functions of the package."""

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.passwords.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self.passwords[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        del self.passwords[service, name]


def value(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None


@pytest.mark.usefixtures("no_keyring")
def test_a_key_of_the_environment_is_taken_out_of_it(tmp_path: Path) -> None:
    environment = {"MY_KEY": f" {SECRET}\n", "OTHER": "x"}
    keys = KeyStore(tmp_path, environment)

    assert value(keys.resolve("env:MY_KEY")) == SECRET
    assert value(keys.resolve("env:MY_KEY")) == SECRET
    assert environment == {"OTHER": "x"}
    assert keys.resolve("env:NONE") is None


@pytest.mark.usefixtures("no_keyring")
def test_a_program_that_we_start_inherits_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)

    key, place = KeyStore(tmp_path, os.environ).find("anthropic", ("ANTHROPIC_API_KEY",))

    child = subprocess.run([sys.executable, "-c", "import os; print(os.environ)"], capture_output=True, check=True)
    assert (value(key), place) == (SECRET, "environment")
    assert SECRET.encode() not in child.stdout


@pytest.mark.usefixtures("no_keyring")
def test_without_a_keyring_a_key_is_in_a_file_of_the_owner_and_that_is_said(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)

    sentence = str(keys.save("anthropic", SecretStr(SECRET)))
    keys.save("other", SecretStr("sk-other"))

    path = tmp_path / "keys.json"
    assert str(path) in sentence
    assert "not encrypted" in sentence
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key, place = KeyStore(tmp_path).find("anthropic")
    assert (value(key), place) == (SECRET, "file")
    assert value(keys.resolve("keyring:other")) == "sk-other"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys.json"]


def test_with_a_keyring_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = FakeKeyring()
    monkeypatch.setattr(keys_module, "_keyring", lambda: ring)
    keys = KeyStore(tmp_path)

    sentence = str(keys.save("anthropic", SecretStr(SECRET)))

    assert "keyring" in sentence
    assert ring.passwords == {("madang", "anthropic"): SECRET}
    key, place = keys.find("anthropic")
    assert (value(key), place) == (SECRET, "keyring")
    assert list(tmp_path.iterdir()) == []
    assert keys.delete("anthropic")
    assert ring.passwords == {}


def test_a_keyring_that_fails_is_told_without_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError(f"locked {SECRET}")

    monkeypatch.setattr(keys_module, "_keyring", lambda: SimpleNamespace(get_password=fail, set_password=fail))
    keys = KeyStore(tmp_path)

    for act in (lambda: keys.find("x"), lambda: keys.save("x", SecretStr("sk-1"))):
        with pytest.raises(SetupError, match="keyring cannot be used: RuntimeError") as caught:
            act()
        assert SECRET not in str(caught.value)


def test_the_real_package_is_asked_for_its_keyring() -> None:
    keyring = pytest.importorskip("keyring")

    found = keys_module._keyring()

    assert found is None or found is keyring


@pytest.mark.usefixtures("no_keyring")
def test_a_variable_wins_over_what_is_kept(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path, {"B": "sk-variable"})
    keys.save("anthropic", SecretStr(SECRET))

    key, place = keys.find("anthropic", ("A", "B"))

    assert (value(key), place) == ("sk-variable", "environment")


@pytest.mark.usefixtures("no_keyring")
def test_a_key_can_be_forgotten(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    keys.save("anthropic", SecretStr(SECRET))

    assert keys.delete("anthropic")
    assert not keys.delete("anthropic")
    assert keys.find("anthropic") == (None, None)
    assert SECRET not in (tmp_path / "keys.json").read_text()


@pytest.mark.usefixtures("no_keyring")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    keys.save("anthropic", SecretStr(SECRET))
    (tmp_path / "keys.json").chmod(0o644)

    with pytest.raises(SetupError, match="can be read by others") as caught:
        keys.find("anthropic")

    assert "chmod 600" in str(caught.value.hint)


@pytest.mark.usefixtures("no_keyring")
@pytest.mark.parametrize("kind", ["symlink", "folder", "pipe", "nonsense", "list"])
def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "keys.json"
    match kind:
        case "symlink":
            (tmp_path / "elsewhere").write_text("{}")
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.mkdir(mode=0o700)
        case "pipe":
            os.mkfifo(path, 0o600)
        case _:
            path.write_text("{" if kind == "nonsense" else "[]")
            path.chmod(0o600)

    with pytest.raises(SetupError, match="cannot be used"):
        KeyStore(tmp_path).find("anthropic")


@pytest.mark.usefixtures("no_keyring")
@pytest.mark.parametrize("key", ["", "two words", "sk-\n", "sk-한글", "x" * 10_000])
def test_what_is_no_key_is_not_kept(tmp_path: Path, key: str) -> None:
    with pytest.raises(SetupError, match="not a key"):
        KeyStore(tmp_path).save("anthropic", SecretStr(key))


@pytest.mark.parametrize("reference", [SECRET, "env:", "file:x", "", "keyring:"])
def test_a_key_that_is_written_where_its_place_belongs_is_not_quoted(tmp_path: Path, reference: str) -> None:
    with pytest.raises(SetupError) as caught:
        KeyStore(tmp_path).resolve(reference)

    assert SECRET not in f"{caught.value} {caught.value.hint}"


@pytest.mark.usefixtures("no_keyring")
def test_no_key_shows_in_a_repr_or_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keys = KeyStore(tmp_path, {"MY_KEY": SECRET})

    key = keys.resolve("env:MY_KEY")
    keys.save("kept", SecretStr(SECRET))
    logging.getLogger("madang").info("%r %s %r", keys, key, vars(keys))

    assert SECRET not in caplog.text
