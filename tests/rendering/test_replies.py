"""The one builder of answers: bounds, errors, pauses and pages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from madang.core.calls import PageMode
from madang.core.documents import Document
from madang.core.errors import NotFound, Unavailable
from madang.core.executor import StopSignal, WorkStopped
from madang.core.limits import MAX_REPLY_BYTES, MAX_REPLY_ROWS
from madang.core.paging import span
from madang.core.phrases import ByPage, Rows, Text, Translate, layout, say
from madang.core.results import Pause, Reply, ShownPage, ToolResult, UiPage
from madang.rendering.catalogue import translator
from madang.rendering.replies import error_reply, render_text, reply
from tests.asking import CALL

ENGLISH = translator("en")
REST = say("… {left_out} more after {shown}.")


class Data(Document):
    some_count: int = 1


def rendered(*text: str | Rows) -> list[str]:
    return render_text(text, ENGLISH).split("\n")


def test_a_text_is_its_blocks_line_by_line() -> None:
    text: Text = [say("Found {n}.", n=2), "", Rows([layout("a"), say("b")], REST), "", "end"]

    assert render_text(text, ENGLISH) == "Found 2.\n\na\nb\n\nend"


def test_fifty_rows_are_shown_and_the_rest_is_told() -> None:
    exactly = rendered(Rows([layout("row")] * MAX_REPLY_ROWS, REST))
    more = rendered("head", Rows([layout("row")] * (MAX_REPLY_ROWS + 3), REST), "foot")

    assert exactly == ["row"] * MAX_REPLY_ROWS
    assert more == ["head", *["row"] * MAX_REPLY_ROWS, "… 3 more after 50.", "foot"]


@pytest.mark.parametrize(("start", "following"), [(0, "50, page 2"), (100, "150, page 4"), (60, "110, page 3")])
def test_a_list_that_is_cut_knows_where_it_goes_on(start: int, following: str) -> None:
    """The page may repeat rows, where the list did not begin at a page of that size; it skips none."""
    text = rendered(Rows([layout("row")] * 60, say("… Next: {next}, page {next_page}"), start))

    assert text[-1] == f"… Next: {following}"


def test_a_part_says_where_text_and_data_go_on() -> None:
    rest = say("… {left_out} more from {next} on.")
    short = ToolResult([Rows([layout("row")] * 2, rest, offset=10, total=15)], Data())
    long = ToolResult([Rows([layout("row")] * 60, rest, offset=10, total=80)], Data())
    whole = ToolResult([Rows([layout("row")] * 2, rest, offset=10, total=12)], Data())

    short_reply, long_reply, whole_reply = (reply("s", "t", CALL, one) for one in (short, long, whole))

    assert short_reply.text == "[t] row\nrow\n… 3 more from 12 on."
    assert short_reply.data["next"] == "… 3 more from 12 on."
    assert long_reply.text.endswith("row\n… 20 more from 60 on.")
    assert long_reply.data["next"] == "… 10 more from 70 on."
    assert (whole_reply.text, "next" in whole_reply.data) == ("[t] row\nrow", False)


def test_rows_are_cut_where_the_room_ends() -> None:
    lines = rendered("head", Rows([layout("가" * 300)] * 20, REST), "foot")

    shown = lines.count("가" * 300)
    assert shown == 9
    assert lines[-2:] == [f"… {20 - shown} more after {shown}.", "foot"]
    assert len("\n".join(lines).encode()) <= MAX_REPLY_BYTES + 100


def test_what_stands_beside_a_list_counts_too() -> None:
    lines = rendered("x" * 5000, Rows([layout("y" * 500)] * 10, REST), "z" * 500)

    assert lines == ["x" * 5000, *["y" * 500] * 5, "… 5 more after 5.", "z" * 500]


def test_two_lists_share_the_room() -> None:
    lines = rendered(
        Rows([layout("a" * 700)] * 10, REST), Rows([layout("b" * 700)] * 10, say("… {left_out} b left out."))
    )

    assert lines.count("a" * 700) == 10
    assert lines.count("b" * 700) == 1
    assert lines[-1] == "… 9 b left out."


def test_one_row_is_always_shown_as_far_as_there_is_room() -> None:
    first, last = rendered(Rows([layout("x" * 20_000), layout("y")], REST))

    assert first == "x" * MAX_REPLY_BYTES + "… (cut here: 11808 more characters)"
    assert last == "… 1 more after 1."


def test_long_lines_share_the_room_and_short_ones_stay_whole() -> None:
    lines = rendered("가" * 4000, "short", "나" * 4000, Rows([layout("row")] * 3, REST), "end")

    cut = "… (cut here: {} more characters)"
    assert lines == [
        "가" * 1361 + cut.format(2639),
        "short",
        "나" * 1361 + cut.format(2639),
        "row",
        "row",
        "row",
        "end",
    ]
    assert len("\n".join(lines).encode()) <= MAX_REPLY_BYTES + 200


def test_a_text_that_fits_is_left_alone() -> None:
    assert rendered("가" * 2600, "b", Rows([layout("c")], REST)) == ["가" * 2600, "b", "c"]


def test_an_answer_names_its_tool_and_carries_camel_case_data() -> None:
    assert reply("service", "do_it", CALL, ToolResult([say("Done.")], Data())) == Reply(
        tool="do_it", service="service", text="[do_it] Done.", data={"someCount": 1}
    )


def test_an_error_says_what_happened_and_what_to_do() -> None:
    error = NotFound(say("Playbook {id} not found.", id="x"), hint=say("Look again."))

    assert error_reply("service", "do_it", CALL, error) == Reply(
        tool="do_it",
        service="service",
        text="[do_it] Error: Playbook x not found.\nHint: Look again.",
        data={"error": {"code": "not_found", "message": "Playbook x not found.", "hint": "Look again."}},
        error_code="not_found",
    )


def test_an_error_without_a_hint_is_one_line() -> None:
    assert error_reply("s", "t", CALL, Unavailable(say("Gone."))).text == "[t] Error: Gone."


def test_an_error_in_korean_keeps_its_code_and_tool() -> None:
    error = NotFound(say("Playbook {id} not found.", id="x-1"))

    answer = error_reply("service", "get_playbook", replace(CALL, locale="ko"), error)

    assert answer.text.startswith("[get_playbook] ")
    assert "x-1" in answer.text
    assert answer.data["error"]["code"] == "not_found"


PAUSE = Pause("choice", say("buttons available"), say("ask in the chat"))
PAGE = UiPage("playbooks/list", say("Playbooks"), "playbook/playbooks.html", {"page": span(1, 10, 0).fill([])})


@pytest.mark.parametrize(
    ("pages", "what"),
    [("embedded", "buttons available"), ("linked", "buttons available"), ("off", "ask in the chat")],
)
def test_a_pause_is_the_last_thing_said_in_the_words_for_this_client(pages: PageMode, what: str) -> None:
    call = replace(CALL, pages=pages)

    answer = reply("playbook", "show", call, ToolResult(["Look."], Data(), page=PAGE, pause=PAUSE))

    assert answer.text == f"[show] Look.\n\nStatus: Agent paused for user interaction ({what})."
    assert answer.pause == "choice"
    assert answer.data == {
        "someCount": 1,
        "pause": {"kind": "choice", "status": "waiting"},
        "next": f"Paused: {what}.",
    }


def test_a_pause_says_in_the_data_what_settles_it_and_until_when() -> None:
    pause = replace(PAUSE, id="p-1", expires_at="2026-01-01T00:00:00.000Z")

    data = reply("ui", "ask", CALL, ToolResult(["Asked."], Data(), next=[say("Wait.")], pause=pause)).data

    assert data["pause"] == {
        "kind": "choice",
        "id": "p-1",
        "status": "waiting",
        "expiresAt": "2026-01-01T00:00:00.000Z",
    }
    assert data["next"] == "Wait.\nPaused: ask in the chat."


def test_what_comes_next_ends_the_text_and_stands_in_the_data() -> None:
    result = ToolResult([say("Done.")], Data(), next=[say("Call 'a' with x {n}.", n=1), say("Or call 'b'.")])

    answer = reply("s", "t", CALL, result)

    assert answer.text == "[t] Done.\n\nCall 'a' with x 1.\nOr call 'b'."
    assert answer.data == {"someCount": 1, "next": "Call 'a' with x 1.\nOr call 'b'."}


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ("embedded", "[show] On the page:\n\nThey see it."),
        ("linked", "[show] On the page:\n\nThey see it."),
        ("off", "[show] Nothing is shown.\n\nTell them."),
    ],
)
def test_a_text_is_true_for_the_reader_it_goes_to(pages: PageMode, expected: str) -> None:
    result = ToolResult(
        [ByPage(shown=say("On the page:"), hidden=say("Nothing is shown."))],
        Data(),
        next=[ByPage(shown=say("They see it.")), ByPage(hidden=say("Tell them."))],
        page=PAGE,
    )

    assert reply("playbook", "show", replace(CALL, pages=pages), result).text == expected


@pytest.mark.parametrize(("pages", "expected"), [("embedded", "It is open."), ("off", "Nothing is open.")])
def test_a_page_that_is_open_already_counts_as_shown(pages: PageMode, expected: str) -> None:
    result = ToolResult([ByPage(say("It is open."), say("Nothing is open."))], Data(), refill=PAGE)

    assert reply("playbook", "show", replace(CALL, pages=pages), result).text == f"[show] {expected}"


def test_a_result_without_a_page_is_told_as_to_a_reader_without_pages() -> None:
    result = ToolResult([ByPage(shown=say("On the page:"), hidden=say("Nothing is shown."))], Data())

    assert reply("playbook", "show", CALL, result).text == "[show] Nothing is shown."


def test_a_page_alone_never_pauses() -> None:

    answer = reply("playbook", "show", CALL, ToolResult(["Look."], Data(), page=PAGE))

    assert answer.pause is None
    assert answer.text == "[show] Look."
    assert isinstance(answer.page, ShownPage)


def test_a_page_comes_in_the_form_and_language_of_the_client() -> None:
    result = ToolResult(["Look."], Data(), page=PAGE)

    embedded = reply("playbook", "show", replace(CALL, locale="ko"), result).page
    linked = reply("playbook", "show", replace(CALL, pages="linked"), result).page
    none = reply("playbook", "show", replace(CALL, pages="off"), result).page

    assert embedded is not None
    assert '<html lang="ko">' in embedded.document
    assert "The host did not answer." not in embedded.document
    assert linked is not None
    assert (linked.document, linked.name) == ("", "playbooks/list")
    assert linked.fragment.startswith('<h1 tabindex="-1">Playbooks</h1>')
    assert none is None


def test_a_reply_looks_at_the_clock_at_each_phrase_its_page_included() -> None:
    page = UiPage(name="playbook/list", title=say("Pages"), template="chart/chart.html", context={"chart": SlowPage()})
    result = ToolResult([say("One.")], Data(), page=page)
    stop = StopSignal()
    SlowPage.stop = stop

    with pytest.raises(WorkStopped):
        reply("chart", "draw", replace(CALL, pages="linked"), result, stop.check)


class SlowPage:
    """A page whose call is cancelled while it is drawn."""

    title = ""
    stop: StopSignal

    def parts(self, translate: Translate) -> None:
        self.stop.set()
        translate("Chart")
        raise AssertionError("it went on")


def test_english_is_written_in_the_code() -> None:
    assert translator("en")("No such template {x}") == "No such template {x}"
    assert translator("ko")("No such template {x}") == "No such template {x}"
    assert translator("ko")("Playbooks") == snapshot("플레이북")
