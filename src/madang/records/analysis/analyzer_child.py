"""The analyzer, in a process of its own: loads, confines itself, then answers until its input ends."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from madang.records.analysis import frames
from madang.system.confinement import confine_process, end_with_parent
from madang.text.search.tokens import Tokenizer

_WARM_UP, _KOREAN_WARM_UP = "Words of version 2.0", "한국어 사전"


def main() -> None:
    """Answer the questions on standard input."""
    parent, memory_bytes, loads_dictionary = map(int, sys.argv[1:4])
    end_with_parent(parent)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    _send(answers, frames.STARTED, b"")
    tokenizer = Tokenizer()
    text = f"{_WARM_UP} {_KOREAN_WARM_UP}" if loads_dictionary else _WARM_UP
    tokenizer.tokens(text)
    tokenizer.query(text)
    name = tokenizer.name.encode()
    # What is not imported or opened by now cannot be any more.
    confine_process(memory_bytes, None)
    _send(answers, frames.READY, name)
    while head := questions.read(frames.HEAD.size):
        kind, size = frames.HEAD.unpack(head)
        payload = questions.read(size)
        try:
            answer = _answer(tokenizer, kind, frames.unpack_texts(payload))
        except BaseException as error:  # a panic of a Rust library is no Exception; the text is what caused it
            _send(answers, frames.FAILED, type(error).__name__.encode())
        else:
            _send(answers, frames.ANSWER, answer)
    os._exit(0)


def _answer(tokenizer: Tokenizer, kind: bytes, texts: list[str]) -> bytes:
    if kind == frames.QUERY:
        return frames.pack_query(tokenizer.query(texts[0]))
    return frames.pack_tokens([tokenizer.tokens(text) for text in texts])


def _send(stream: BinaryIO, kind: bytes, payload: bytes) -> None:
    stream.write(frames.frame(kind, payload))
    stream.flush()
