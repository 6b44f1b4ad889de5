"""The commands of `madang chat`: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from madang.agent.events import message_withdrawn
from madang.agent.offers import offered_tools
from madang.cli.conversation import Conversation, absolute_models
from madang.cli.tools import explain_tool, first_sentence
from madang.core.errors import RequestError
from madang.core.phrases import Phrase, say
from madang.core.suggestions import did_you_mean
from madang.core.texts import one_line
from madang.llm.fallback import split_models

if TYPE_CHECKING:
    from madang.cli.chat import Chat

HELP: dict[str, Phrase] = {
    "/help": say("list the commands"),
    "/stop": say("stop the run, also one that waits"),
    "/open": say("ask again what is open: what was put off, and what earlier runs have asked"),
    "/later": say("leave what is asked open"),
    "/cancel": say("give no answer to what is asked"),
    "/say": say("send a message in place of an answer; the question stays open"),
    "/withdraw": say("take back the last message that is queued"),
    "/model": say("use another model from the next message on"),
    "/tools": say("list the tools, or explain one"),
    "/state": say("show what a model is told of the state"),
    "/call": say("without a model: call a tool, with JSON behind its name"),
    "/quit": say("leave; what is open stays open"),
}


class ChatCommands:
    """What the person can do in a conversation besides talking."""

    def __init__(self, chat: Chat, talk: Conversation) -> None:
        self._chat = chat
        self._talk = talk
        self._actions: dict[str, Callable[[str], Awaitable[None]]] = {
            "/help": self._help,
            "/stop": self._stop,
            "/open": self._open,
            "/later": self._nothing_asked,
            "/cancel": self._nothing_asked,
            "/say": self._say,
            "/withdraw": self._withdraw,
            "/model": self._model,
            "/tools": self._tools,
            "/state": self._state,
            "/quit": self._quit,
            "/exit": self._quit,
        }

    async def do(self, line: str) -> None:
        """Do what a line says.

        Raises:
            RequestError: there is no such command.
        """
        name, _, rest = line.partition(" ")
        action = self._actions.get(name)
        if action is None:
            raise RequestError(
                say("There is no command '{name}'.", name=name),
                hint=did_you_mean(name, HELP)
                or say("/help lists them. A message that begins with / is typed with //."),
            )
        await action(rest.strip())

    async def _help(self, _: str) -> None:
        for name, phrase in HELP.items():
            self._chat.screen.show(f"{name:<10} {self._chat.words(phrase)}")

    async def _stop(self, _: str) -> None:
        if not self._chat.stop():
            self._chat.tell(say("Nothing is running."))

    async def _open(self, _: str) -> None:
        self._chat.reopen()

    async def _nothing_asked(self, _: str) -> None:
        self._chat.tell(say("Nothing is asked."))

    async def _say(self, text: str) -> None:
        if text:
            await self._chat.post(text)

    async def _withdraw(self, _: str) -> None:
        messages = self._talk.agent.stores.messages
        queued = await messages.list_queued(self._talk.call)
        for message in reversed(queued):
            if await messages.withdraw(self._talk.call, message.id, message_withdrawn(message.id)):
                self._chat.tell(say("The message is taken back."))
                return
        self._chat.tell(say("No message is queued."))

    async def _model(self, name: str) -> None:
        if name:
            name = absolute_models(name)
            for model in split_models(name):
                await self._talk.agent.models.get(model)
            if (live := await self._talk.live()) is not None:
                await self._talk.switch_model(live, name)
            self._chat.model = name
        self._chat.tell(say("Model: {model}", model=self._chat.model or "-"))

    async def _tools(self, name: str) -> None:
        provider, call = self._talk.agent.madang.provider, self._talk.call
        if name:
            tool = provider.find_tool(name)
            if tool is None:
                raise provider.unknown_tool(call, name)
            explain_tool(tool, self._talk.agent.madang.settings)
            return
        for tool in await offered_tools(provider, replace(call, actor="model")):
            self._chat.screen.show(f"{tool.name:<28} {one_line(first_sentence(tool.description), 100)}")

    async def _state(self, _: str) -> None:
        state = await self._talk.agent.madang.provider.build_state_prompt(self._talk.call)
        self._chat.screen.show(state.text)

    async def _quit(self, _: str) -> None:
        self._chat.leave()
