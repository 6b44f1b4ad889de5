"""The sentences that the script of a page says by itself, by the code of an error or a name of their own.

They are for the person: what a tool tells the model names tools and ids, and is never shown on a page.
"""

from __future__ import annotations

from madang.core.phrases import Phrase, Translate, say

_BUSY = say("Madang is busy. Try again in a moment.")
PAGE_TEXTS: dict[str, Phrase] = {
    "failed": say("That did not work."),
    "no_answer": say("The app did not answer."),
    "not_found": say("It was not found. It may have been deleted or moved."),
    "conflict": say("It was changed elsewhere meanwhile."),
    "expired": say("It is too late for that."),
    "denied": say("That is not allowed here."),
    "invalid_arguments": say("That was not accepted. Please check what you entered."),
    "limit_exceeded": say("That is too large."),
    "timed_out": _BUSY,
    "unavailable": _BUSY,
    "nothing": say("There is nothing to show here."),
    "done": say("Done."),
    "copied": say("Copied."),
    "retry": say("Try again"),
}


def page_texts(translate: Translate) -> dict[str, str]:
    return {name: phrase.render(translate) for name, phrase in PAGE_TEXTS.items()}
