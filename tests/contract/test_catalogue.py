"""The message catalogue against the code: nothing is said that it does not hold, and no placeholder gets lost.

In Korean, here and in the front end, every particle after a value goes by the sound of that value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.pofile import read_po

import madang
from madang.core.particles import PARTICLES, particle
from madang.core.phrases import Phrase

SOURCE = Path(madang.__file__).parent
with (SOURCE / "locale" / "ko" / "LC_MESSAGES" / "madang.po").open("rb") as _file:
    CATALOGUE = {str(entry.id): str(entry.string) for entry in read_po(_file, locale="ko") if entry.id}
TRANSLATED = {english: korean for english, korean in CATALOGUE.items() if korean}
ROOT = Path(__file__).parents[2]

FORMS = "|".join(sorted({*PARTICLES, *PARTICLES.values()}, key=len, reverse=True))
CLOSING = "['\"’”]*"
BOTH_FORMS = re.compile(
    r"은\(는\)|는\(은\)|이\(가\)|가\(이\)|[을를]\([을를]\)|[과와]\([과와]\)|\((?:으|이)\)[로라나며]"
)
FIXED = re.compile(rf"(?<!\{{이라)\}}{CLOSING}(?:{FORMS})(?![가-힣(])")
"""A particle that stays the same whatever the value before it is."""
AFTER_VALUE = {
    "나무": "는 가 를 와 로 라",
    "책상": "은 이 을 과 으로 이라",
    "연필": "은 이 을 과 로 이라",
    "3": "은 이 을 과 으로 이라",
    "7": "은 이 을 과 로 이라",
    "PDF": "는 가 를 와 로 라",
    "plan": "은 이 을 과 으로 이라",
    "Excel": "은 이 을 과 로 이라",
}
"""Every form that may stand after a value, written out: not what the code under test would say."""
GLOSSARY = {
    "argument": ("인자", "인수"),
    "content": ("자료", "콘텐츠|컨텐츠"),
    "key": ("키", "열쇠"),
    "keyring": ("키링", "열쇠고리"),
    "playbook": ("플레이북", "플레이 북"),
    "session": ("세션", "쎄션"),
    "store": ("자료함", "(?<!Git이 )저장소(?!로 여기)|보관소"),
    "turn": ("차례", r"\}턴"),
}
"""One word per thing, in tool texts, on screens and in the Korean docs, and what nobody has to read beside it."""


def said() -> Iterator[tuple[str, ast.expr]]:
    """Yield where something is said, and what."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.args[0]


def test_everything_the_code_says_is_in_the_catalogue() -> None:
    """A template that is put together at run time is never found there, so each must be written out."""
    missing = [
        where for where, template in said() if not (isinstance(template, ast.Constant) and template.value in CATALOGUE)
    ]

    assert missing == []


def test_every_translation_has_the_placeholders_of_its_message() -> None:
    assert {
        english: korean for english, korean in TRANSLATED.items() if placeholders(korean) != placeholders(english)
    } == {}


def test_every_translation_has_the_tool_names_of_its_message() -> None:
    assert {
        english: korean for english, korean in TRANSLATED.items() if quoted_tools(korean) != quoted_tools(english)
    } == {}


@pytest.mark.parametrize("value", AFTER_VALUE)
def test_every_translation_has_the_right_particles_after(value: str) -> None:
    texts = [Phrase(english, values_of(english, value)).render(TRANSLATED.__getitem__) for english in TRANSLATED]
    after = re.compile(rf"{value}{CLOSING}({FORMS})(?=는? |는?[.,:;]|는?$)", re.MULTILINE)
    found = [(match[1], text) for text in texts for match in after.finditer(text)]

    assert [text for form, text in found if form not in AFTER_VALUE[value].split()] == []
    assert len(found) > 150, "a pattern that finds nothing proves nothing"
    assert [text for text in texts if BOTH_FORMS.search(text) or re.search(rf"\{{(?:{FORMS})\}}", text)] == []


def test_every_translation_has_the_right_particles_after_names_that_are_written_out() -> None:
    written = re.compile(rf"('[A-Za-z_ -]*[A-Za-z]')({FORMS})(?![가-힣(])")
    form_of = {form: name for name, after_vowel in PARTICLES.items() for form in (name, after_vowel)}
    found = [(match, korean) for korean in TRANSLATED.values() for match in written.finditer(korean)]

    assert found
    assert [korean for match, korean in found if particle(form_of[match[2]], match[1]) != match[2]] == []


def test_no_text_leaves_the_choice_of_a_particle_to_its_reader() -> None:
    assert [where for where, line in korean_lines() if BOTH_FORMS.search(line)] == []


def test_no_text_has_one_particle_for_every_value() -> None:
    assert [where for where, line in korean_lines() if FIXED.search(line)] == []


@pytest.mark.parametrize("thing", GLOSSARY)
def test_a_thing_has_one_korean_word(thing: str) -> None:
    word, others = GLOSSARY[thing]
    # Code may know more words than it says: those that tools are found by.
    lines = [(where, line) for where, line in korean_lines() if ".py:" not in where]

    assert any(word in line for _, line in lines)
    assert [where for where, line in lines if re.search(others, line)] == []


@pytest.mark.parametrize("form", ["을(를)", "이(가)", "은(는)", "와(과)", "(으)로"])
def test_both_forms_of_a_particle_would_be_found(form: str) -> None:
    assert BOTH_FORMS.search(f"'{{name}}'{form} 지웠습니다")


def korean_lines() -> Iterator[tuple[str, str]]:
    """Yield every line with Korean that a person or a model may read, and where it is."""
    texts = [(SOURCE, "*.po"), (SOURCE, "*.html"), (SOURCE, "*.js"), (SOURCE, "*.py")]
    texts += [(ROOT / "web", "src/**/*.ts"), (ROOT / "web", "src/**/*.tsx"), (ROOT / "web", "*.html")]
    for folder, pattern in [*texts, (ROOT / "docs" / "ko", "*.md")]:
        paths = [path for path in sorted(folder.rglob(pattern)) if not {"static", "node_modules"} & set(path.parts)]
        paths = [path for path in paths if ".test." not in path.name]
        assert paths, pattern
        for path in paths:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if re.search("[가-힣]", line):
                    yield f"{path.name}:{number}", line


def values_of(template: str, value: str) -> dict[str, object]:
    """Return `value` for each placeholder of a template, and a number where it is formatted as one."""
    fields = [(name.partition("|")[0], spec) for _, name, spec, _ in Formatter().parse(template) if name]
    return {name: 7 if spec else value for name, spec in sorted(fields, key=lambda field: field[1] or "")}


def placeholders(template: str) -> set[tuple[str, str]]:
    """Return the names of the values in a template. What depends on number or sound is for each language to say."""
    parsed = [(name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name]
    return {(name, spec) for name, spec in parsed if "|" not in name and name not in PARTICLES}


def quoted_tools(template: str) -> list[str]:
    return sorted(re.findall(r"'[a-z]+(?:_[a-z]+)+'", template))
