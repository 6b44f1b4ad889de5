"""What every built-in service promises: it can be told apart, opened, closed, and asked for its state."""

from __future__ import annotations

import re

import pytest

from madang.core.phrases import Phrase
from madang.core.service import Service
from madang.rendering.catalogue import translator
from tests.promises import SERVICES, missing_promises


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_a_promise_for_each_of_its_tools(name: str) -> None:
    """The other tests of the contract run over these."""
    if missing := missing_promises(SERVICES[name]):
        pytest.fail(missing, pytrace=False)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_says_who_it_is_in_both_languages(name: str) -> None:
    metadata = SERVICES[name].metadata

    assert name.isidentifier()
    assert metadata.version
    for text in (metadata.title, metadata.description):
        assert isinstance(text, Phrase)
        assert text.render(translator("ko"))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_keeps_something_tells_its_state_and_its_changes(name: str) -> None:
    service = SERVICES[name]
    is_stateful = any(tool.effect != "read" for tool in service.tools)

    assert service.tools
    for hook in ("load", "get_service_context", "changes"):
        assert (getattr(type(service), hook) is not getattr(Service, hook)) is is_stateful, hook


@pytest.mark.parametrize("name", SERVICES)
def test_the_instructions_of_a_service_name_its_own_tools_alone(name: str) -> None:
    """Another service may not be registered, and then a model would be sent to a tool that is not there."""
    service = SERVICES[name]
    names = set(re.findall(r"[a-z]+(?:_[a-z]+)+", service.metadata.instructions))

    assert names <= {tool.name for tool in service.tools}


def test_tool_names_are_unique_over_all_services() -> None:
    names = [tool.name for service in SERVICES.values() for tool in service.tools]

    assert len(names) == len(set(names))
