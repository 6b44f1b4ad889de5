"""A call that is given an id of another kind is told what it is."""

from __future__ import annotations

from tests.asking import Asker


async def _ids(asker: Asker) -> dict[str, str]:
    added = await asker.done("add_content", content="Oolong is half fermented.")
    asked = await asker.done("prompt_user", prompt="Which tea?", type="text")
    created = await asker.done("create_playbook", goal="Brew tea", workflow=[])
    return {
        "content": added.data["contentId"],
        "store": added.data["storeId"],
        "message": asked.data["messageId"],
        "playbook": created.data["playbook"]["id"],
    }


async def test_a_content_given_as_a_store_is_told_to_be_one_and_left_out(asker: Asker) -> None:
    ids = await _ids(asker)

    refused = await asker.ask("read_content", contentId=ids["content"], storeId=ids["content"])

    assert refused.error_code == "not_found"
    assert f"{ids['content']} is a contentId, not a storeId." in refused.text
    assert "Hint: Leave storeId out." in refused.text
    chunk = await asker.ask("keyword_similarity_search", query="tea", store_id=f"{ids['content']}-1")
    assert "is a contentId, not a storeId." in chunk.text


async def test_ids_of_other_services_are_known_by_their_kind(asker: Asker) -> None:
    ids = await _ids(asker)

    question = await asker.ask("read_content", contentId=ids["message"])
    store = await asker.ask("get_prompt", messageId=ids["store"])
    playbook = await asker.ask("get_playbook", id=ids["content"])
    chosen = await asker.ask("delete_content", contentId=ids["playbook"])

    assert f"{ids['message']} is a messageId, not a contentId." in question.text
    assert "list_content" in question.text
    assert f"{ids['store']} is a storeId, not a messageId." in store.text
    assert f"{ids['content']} is a contentId: 'get_playbook' takes another id." in playbook.text
    assert f"{ids['playbook']} is a playbook, not a contentId." in chosen.text


async def test_what_is_not_there_at_all_is_answered_as_before(asker: Asker) -> None:
    ids = await _ids(asker)

    nowhere = await asker.ask("read_content", contentId="nowhere")
    elsewhere = await asker.with_call(session_id="another").ask("delete_content", contentId=ids["message"])
    pause = await asker.ask("select_playbook", id=ids["playbook"], pauseId="nowhere")

    assert "Content nowhere not found." in nowhere.text
    assert f"Content {ids['message']} not found." in elsewhere.text
    assert "is a" not in pause.text


async def test_a_model_that_fills_in_a_word_is_told_to_leave_it_out(asker: Asker) -> None:
    ids = await _ids(asker)
    model = asker.with_call(actor="model", door="agent")

    refused = await model.ask("read_content", contentId=ids["content"], storeId="Madang")
    foreign = await asker.with_call(actor="foreign").ask("read_content", contentId=ids["content"], storeId="Madang")

    assert "Store Madang not found.\nHint: Leave storeId out. Call 'list_stores'" in refused.text
    assert "Leave storeId out" not in foreign.text
