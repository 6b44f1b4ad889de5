"""Bodies of requests: what of JSON is outside of its strings."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.server import bodies

TEXTS = st.text(st.sampled_from('[]{}",\\ab\n한'), max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | TEXTS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5)
)
# The same, said shorter; on megabytes it keeps every other thread waiting for a tenth of a second.
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


@given(value=VALUES, block_bytes=st.integers(1, 20))
@settings(max_examples=300, deadline=None)
def test_strings_are_left_out_wherever_a_block_ends(value: Any, block_bytes: int) -> None:
    body = json.dumps(value, ensure_ascii=False).encode()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_STRINGS_BLOCK_BYTES", block_bytes)
        assert bodies._outside_strings(body) == STRING.sub(b"", body)


@pytest.mark.parametrize("end", [b"", b"\\", b'\\"', b"\\\\", b"\\" * 200_001])
def test_an_unclosed_string_lasts_to_the_end(end: bytes) -> None:
    assert bodies._outside_strings(b'["a","' + b'\\"' * 100_000 + end) == b"[,"
