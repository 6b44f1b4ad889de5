"""What the tools of the ui service promise."""

from __future__ import annotations

from tests.asking import Asker
from tests.promises import Ids, Promise, ServicePromises

QUESTION = {"prompt": "Which one?", "type": "select"}
OPTIONS = [f"{number} " + "선" * 490 for number in range(100)]


async def prepare(asker: Asker) -> Ids:
    asked = await asker.done("prompt_user", prompt="Which ones?", type="multiselect", options=["One", "Two"])
    waiting = await asker.done("wait_for_user", message="Open the door")
    return {"prompt": asked.data["messageId"], "wait": waiting.data["waitId"]}


async def fill(asker: Asker) -> Ids:
    asked = await asker.done("prompt_user", prompt="질" * 4000, type="multiselect", options=OPTIONS)
    waiting = await asker.done("wait_for_user", message="기" * 4000, resumeInstruction="다" * 4000)
    for _ in range(20):
        await asker.done("prompt_user", prompt="문" * 4000, type="text")
    return {"prompt": asked.data["messageId"], "wait": waiting.data["waitId"]}


PROMISES = ServicePromises(
    {
        "prompt_user": Promise(
            "write",
            {**QUESTION, "options": ["One", "둘"]},
            refused=QUESTION,
            largest={"prompt": "질" * 4000, "type": "select", "options": OPTIONS},
            shows_page=True,
            pauses=True,
        ),
        "reply_prompt": Promise(
            "write",
            lambda ids: {"messageId": ids["prompt"], "answer": ["One"]},
            refused={"messageId": "nothing", "answer": "One"},
            largest=lambda ids: {"messageId": ids["prompt"], "answer": OPTIONS},
            audience="person",
            shows_page=True,
            unions=1,
        ),
        "get_prompt": Promise("read", lambda ids: {"messageId": ids["prompt"]}, refused={"messageId": "nothing"}),
        "list_prompts": Promise("read", {}),
        "wait_for_user": Promise(
            "write",
            {"message": "Plug it in", "resumeInstruction": "Look again"},
            largest={"message": "기" * 4000, "resumeInstruction": "다" * 4000},
            shows_page=True,
            pauses=True,
        ),
        "resume_from_wait": Promise(
            "write",
            lambda ids: {"waitId": ids["wait"]},
            refused={"waitId": "nothing"},
            audience="person",
            shows_page=True,
        ),
    },
    prepare,
    fill,
)
