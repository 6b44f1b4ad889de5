"""Changes to config.toml: what a person wrote stays, and what cannot be changed safely is left alone."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from madang.core.errors import Conflict, NotFound
from madang.files.config_file import ConfigFile

WRITTEN = """\
# My own settings
locale = "ko"
model = "quick"  # the small one

[models.quick]
url = "http://127.0.0.1:11434/v1"   # Ollama
model = "qwen3"

[ models . "큰 것" ]
provider = "anthropic"
model = "claude"

[retention]
events_days = 7
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_a_model_is_added_to_a_file_that_is_not_there_yet(path: Path) -> None:
    ConfigFile(path).add_model("my model", {"url": "http://127.0.0.1:1/v1", "model": 'a"b\\c', "temperature": 0.5})

    values = {"url": "http://127.0.0.1:1/v1", "model": 'a"b\\c', "temperature": 0.5}
    assert tomllib.loads(path.read_text()) == {"models": {"my model": values}}
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600


def test_comments_order_and_spelling_stay(path: Path) -> None:
    path.write_text(WRITTEN)
    file = ConfigFile(path)

    file.add_model("new", {"url": "http://127.0.0.1:1/v1", "model": "x"})
    file.set_default_model("new")
    assert path.read_text() == (
        WRITTEN.replace('model = "quick"  # the small one\n', 'model = "new"\n')
        + '\n[models."new"]\nurl = "http://127.0.0.1:1/v1"\nmodel = "x"\n'
    )
    file.remove_model("new")
    file.set_default_model("")
    assert path.read_text().rstrip() == WRITTEN.replace('model = "quick"  # the small one\n', "").rstrip()


def test_a_table_is_found_however_its_name_is_written(path: Path) -> None:
    path.write_text(WRITTEN)
    ConfigFile(path).remove_model("큰 것")

    config = tomllib.loads(path.read_text())
    assert list(config["models"]) == ["quick"]
    assert config["retention"] == {"events_days": 7}


def test_the_default_is_written_before_the_first_table(path: Path) -> None:
    path.write_text('[models.a]\nmodel = "x"\nurl = "http://127.0.0.1:1/v1"\n')
    ConfigFile(path).set_default_model("a")
    assert tomllib.loads(path.read_text())["model"] == "a"
    assert tomllib.loads(path.read_text())["models"]["a"]["model"] == "x"


def test_what_is_not_there_and_what_is_there_already_is_told(path: Path) -> None:
    path.write_text(WRITTEN)
    with pytest.raises(Conflict):
        ConfigFile(path).add_model("quick", {"model": "x"})
    with pytest.raises(NotFound):
        ConfigFile(path).remove_model("nothing")
    assert path.read_text() == WRITTEN


@pytest.mark.parametrize(
    "text",
    [
        'models = { quick = { url = "http://127.0.0.1:1/v1", model = "x" } }\n',  # an inline table takes no more
        '[models]\nquick = { url = "http://127.0.0.1:1/v1", model = "x" }\n',
        "this is no TOML",
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(Conflict):
        ConfigFile(path).remove_model("quick")
    assert path.read_text() == text


def test_a_line_within_a_text_of_several_lines_is_not_taken_for_the_default(path: Path) -> None:
    text = 'user = """\nmodel = "quick"\n"""\n'
    path.write_text(text)
    try:
        ConfigFile(path).set_default_model("new")
    except Conflict:
        assert path.read_text() == text
    else:
        assert tomllib.loads(path.read_text()) == {"user": 'model = "quick"\n', "model": "new"}


def test_a_name_cannot_write_more_than_a_name(path: Path) -> None:
    name = 'x"]\nlocale = "ko"\n[models."y'
    ConfigFile(path).add_model(name, {"model": "m", "url": "http://127.0.0.1:1/v1"})
    assert list(tomllib.loads(path.read_text())) == ["models"]
    assert list(tomllib.loads(path.read_text())["models"]) == [name]


def test_a_link_to_a_file_elsewhere_stays_one(path: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "config.toml"
    real.write_text(WRITTEN)
    path.symlink_to(real)
    ConfigFile(path).set_default_model("other")
    assert path.is_symlink()
    assert tomllib.loads(real.read_text())["model"] == "other"
