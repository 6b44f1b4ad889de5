"""The commands of `madang chat`: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from madang.agent.events import message_withdrawn
from madang.agent.offers import offered_tools
from madang.cli.conversation import Conversation, absolute_models
from madang.cli.screen import Screen
from madang.cli.tools import explain_tool, first_sentence
from madang.core.errors import RequestError
from madang.core.phrases import Phrase, say
from madang.core.suggestions import did_you_mean
from madang.core.texts import one_line
from madang.llm.fallback import split_models


class CommandedChat(Protocol):
    """What commands need of the chat that reads them: `Chat`."""

    model: str

    @property
    def screen(self) -> Screen: ...

    def words(self, phrase: Phrase) -> str: ...

    def tell(self, phrase: Phrase) -> None: ...

    def stop(self) -> bool: ...

    def reopen(self) -> None: ...

    def leave(self) -> None: ...

    async def post(self, text: str) -> None: ...


class ChatCommands:
    """What the person can do in a conversation besides talking."""

    def __init__(self, chat: CommandedChat, talk: Conversation) -> None:
        self._chat = chat
        self._talk = talk

    async def do(self, line: str) -> None:
        """Do what a line says.

        Raises:
            RequestError: there is no such command.
        """
        name, _, rest = line.partition(" ")
        if name not in _ACTIONS:
            raise RequestError(
                say("There is no command '{name}'.", name=name),
                hint=did_you_mean(name, HELP)
                or say("/help lists them. A message that begins with / is typed with //."),
            )
        await _ACTIONS[name](self, rest.strip())

    async def help(self, _: str) -> None:
        for name, phrase in HELP.items():
            self._chat.screen.show(f"{name:<10} {self._chat.words(phrase)}")

    async def stop(self, _: str) -> None:
        if not self._chat.stop():
            self._chat.tell(say("Nothing is running."))

    async def open(self, _: str) -> None:
        self._chat.reopen()

    async def nothing_asked(self, _: str) -> None:
        self._chat.tell(say("Nothing is asked."))

    async def say(self, text: str) -> None:
        if text:
            await self._chat.post(text)

    async def withdraw(self, _: str) -> None:
        messages = self._talk.agent.stores.messages
        queued = await messages.list_queued(self._talk.call)
        for message in reversed(queued):
            if await messages.withdraw(self._talk.call, message.id, message_withdrawn(message.id)):
                self._chat.tell(say("The message is taken back."))
                return
        self._chat.tell(say("No message is queued."))

    async def model(self, name: str) -> None:
        if name:
            name = absolute_models(name)
            for model in split_models(name):
                await self._talk.agent.models.get(model)
            if (live := await self._talk.live()) is not None:
                await self._talk.switch_model(live, name)
            self._chat.model = name
        self._chat.tell(say("Model: {model}", model=self._chat.model or "-"))

    async def tools(self, name: str) -> None:
        provider, call = self._talk.agent.madang.provider, self._talk.call
        if name:
            tool = provider.find_tool(name)
            if tool is None:
                raise provider.unknown_tool(call, name)
            explain_tool(tool, self._talk.agent.madang.settings)
            return
        for tool in await offered_tools(provider, replace(call, actor="model")):
            self._chat.screen.show(f"{tool.name:<28} {one_line(first_sentence(tool.description), 100)}")

    async def state(self, _: str) -> None:
        state = await self._talk.agent.madang.provider.build_state_prompt(self._talk.call)
        self._chat.screen.show(state.text)

    async def quit(self, _: str) -> None:
        self._chat.leave()


_Action = Callable[[ChatCommands, str], Awaitable[None]]
_COMMANDS: dict[str, tuple[Phrase, _Action | None]] = {
    "/help": (say("list the commands"), ChatCommands.help),
    "/stop": (say("stop the run, also one that waits"), ChatCommands.stop),
    "/open": (say("ask again what is open: what was put off, and what earlier runs have asked"), ChatCommands.open),
    "/later": (say("leave what is asked open"), ChatCommands.nothing_asked),
    "/cancel": (say("give no answer to what is asked"), ChatCommands.nothing_asked),
    "/say": (say("send a message in place of an answer; the question stays open"), ChatCommands.say),
    "/withdraw": (say("take back the last message that is queued"), ChatCommands.withdraw),
    "/model": (say("use another model from the next message on"), ChatCommands.model),
    "/tools": (say("list the tools, or explain one"), ChatCommands.tools),
    "/state": (say("show what a model is told of the state"), ChatCommands.state),
    "/call": (say("without a model: call a tool, with JSON behind its name"), None),
    "/quit": (say("leave; what is open stays open"), ChatCommands.quit),
}
HELP = {name: phrase for name, (phrase, _) in _COMMANDS.items()}
_ACTIONS = {name: action for name, (_, action) in _COMMANDS.items() if action} | {"/exit": ChatCommands.quit}
