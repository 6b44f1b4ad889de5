"""Models and keys over the API. The key that a person gives is seen in no answer, log, report, export or database."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import tomllib
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from madang.core.ids import LOCAL_USER
from madang.core.model_config import ModelConfig
from madang.database.port import Transaction
from madang.llm import keys as keys_module
from madang.llm import vendors as vendors_module
from madang.records.runs.usage import Calibration, write_calibration
from madang.settings import Settings, read_settings
from tests.agent.bench import eventually
from tests.host.hosting import Tab, hosting
from tests.host.test_assistants import change, make
from tests.llm.test_keys import FakeKeyring
from tests.model_server import Exchange, ModelServer, answers, refuses
from tests.model_wires import Ask, Say

SECRET = "sk-canary-0123456789-never-seen"


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "_keyring", lambda: None)


@asynccontextmanager
async def manual(folder: Path, **fields: Any) -> AsyncIterator[Tab]:
    async with hosting(folder, settings=Settings(data_dir=folder, **fields)) as tab:
        yield tab


def model_on(server: ModelServer, name: str = "mine") -> dict[str, str]:
    """Return what adds a model of a server under a name."""
    return {"name": name, "url": f"http://127.0.0.1:{server.port}/v1", "model": "qwen3"}


def model_of(answer: Any, name: str) -> Any:
    [one] = [one for one in answer["models"] if one["name"] == name]
    return one


async def test_how_much_fits_is_what_was_learnt_where_that_is_less(tmp_path: Path) -> None:
    models = {"small": ModelConfig(url="http://127.0.0.1:9/v1", model="m", window_tokens=32_000)}
    async with manual(tmp_path, models=models, model="http://127.0.0.1:9/v1#other") as tab:
        assert model_of(await tab.get("/api/me"), "http://127.0.0.1:9/v1#other")["contextTokens"] is None

        async def learn(tx: Transaction) -> None:
            await write_calibration(tx, LOCAL_USER, Calibration("small", window_tokens=8_000))

        await tab.host.agent.madang.database.write(learn, user_id=LOCAL_USER)
        assert model_of(await tab.get("/api/me"), "small")["contextTokens"] == 8_000


async def test_a_script_is_called_by_its_file_without_the_folders(tmp_path: Path) -> None:
    name = f"scripted:{tmp_path}/tea.json"
    async with manual(tmp_path, model=name) as tab:
        assert model_of(await tab.get("/api/me"), name)["label"] == "scripted:tea.json"


async def test_a_model_is_added_used_at_once_and_stays_after_a_restart(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        server.plays(answers(Say("Hello back.")))
        url = f"http://127.0.0.1:{server.port}/v1"
        assert (await tab.get("/api/models"))["models"] == []

        added = await tab.post("/api/models", {"name": "mine", "url": url, "model": "qwen3", "windowTokens": 32_000})
        mine = model_of(added, "mine")
        assert (mine["model"], mine["provider"], mine["isLocal"], mine["windowTokens"]) == ("qwen3", url, True, 32_000)
        await tab.post("/api/models/default", {"name": "mine"})
        me = await tab.get("/api/me")
        assert (me["model"], model_of(me, "mine")["contextTokens"]) == ("mine", 32_000)

        session = await tab.new_session()
        await tab.write(session, "Hello")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert "Hello back." in str(await tab.messages(session))
    again = read_settings({}, data_dir=str(tmp_path))
    assert (again.default_model, list(again.models)) == ("mine", ["mine"])


async def test_an_assistants_own_model_comes_before_the_default_one(tmp_path: Path) -> None:
    async with ModelServer() as first, ModelServer() as second, manual(tmp_path) as tab:
        for name, server in (("usual", first), ("own", second)):
            server.plays(answers(Say(f"I am {name}.")))
            await tab.post("/api/models", {"name": name, "url": f"http://127.0.0.1:{server.port}/v1", "model": name})
        await tab.post("/api/models/default", {"name": "usual"})
        await change(tab, await make(tab, "editor"), model="own")

        session = await tab.new_session(assistantId="editor")
        await tab.write(session, "Who?")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert "I am own." in str(await tab.messages(session))


async def test_a_model_is_removed_with_the_key_that_was_its_own(tmp_path: Path) -> None:
    async with manual(tmp_path) as tab:
        body = {"name": "mine", "url": "https://models.example/v1", "model": "x", "key": SECRET}
        assert model_of(await tab.post("/api/models", body), "mine")["key"] == {"name": "mine", "place": "file"}
        await tab.post("/api/models/default", {"name": "mine"})
        assert SECRET in (tmp_path / "keys.json").read_text()

        assert (await tab.http.delete("/api/models/mine")).status_code == 200
        assert (await tab.http.delete("/api/models/mine")).status_code == 404
        answer = await tab.get("/api/models")
        assert (answer["default"], answer["models"]) == ("", [])
        assert SECRET not in (tmp_path / "keys.json").read_text()
        assert tomllib.loads((tmp_path / "config.toml").read_text()) == {}


async def test_servers_on_this_computer_are_looked_for_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer() as server:

        async def play(exchange: Exchange) -> None:
            await exchange.whole(200, b'{"data": [{"id": "qwen3"}]}')

        server.plays(play)
        monkeypatch.setattr("madang.host_app.USUAL_PORTS", {"Ollama": server.port})
        async with manual(tmp_path) as tab:
            for path in ("/api/me", "/api/models", "/api/assistants"):
                await tab.get(path)
            assert server.requests == []

            found = await tab.post("/api/models/look")
            url = f"http://127.0.0.1:{server.port}/v1"
            assert found == {"servers": [{"name": "Ollama", "url": url, "models": ["qwen3"]}]}
            assert (await tab.get("/api/me"))["model"] == ""


async def test_a_model_is_tried_and_a_failure_is_told_in_words(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        url = f"http://127.0.0.1:{server.port}/v1"
        server.plays(answers(Say("ready")))
        tried = await tab.post("/api/models/try", {"name": f"{url}#qwen3"})
        assert (tried["isOk"], tried["text"]) == (True, "ready")

        await tab.post("/api/models", {"name": "mine", "url": url, "model": "x", "key": SECRET})
        server.plays(refuses(401, f"wrong key {SECRET}"))
        tried = await tab.post("/api/models/try", {"name": "mine"})
        assert tried["isOk"] is False
        assert tried["message"]
        assert SECRET not in str(tried)
        assert server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
        for name in ("nothing", "http://models.example/v1#x", f"scripted:{tmp_path}/x.yaml", "file:///etc/passwd"):
            assert (await tab.http.post("/api/models/try", json={"name": name})).status_code == 404, name


async def test_a_key_goes_in_and_comes_out_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    async with manual(tmp_path) as tab:
        body = {"name": "mine", "url": "https://models.example/v1", "model": "x"}
        seen.append(str(await tab.post("/api/models", {**body, "key": SECRET})))
        saved = await tab.http.post("/api/keys/anthropic", json={"key": SECRET})
        seen.append(saved.text)
        assert saved.json()["key"] == {"name": "anthropic", "place": "file"}
        assert "keys.json" in saved.json()["message"]
        assert "not encrypted" in saved.json()["message"]
        for wrong in ({"key": f"{SECRET} x"}, {"key": SECRET * 1000}, {"key": SECRET, "more": 1}, {"keys": SECRET}):
            refused = await tab.http.post("/api/keys/anthropic", json=wrong)
            assert refused.status_code == 400
            seen.append(refused.text)
        seen.append((await tab.http.post("/api/models", json={**body, "key": [SECRET]})).text)
        for path in ("/api/models", "/api/me", "/api/data", "/api/requests", "/api/openapi.json", "/api/assistants"):
            seen.append((await tab.http.get(path)).text)
        session = await tab.new_session()
        seen.append(str(await tab.get(f"/api/sessions/{session}/tools")))
        for path in ("/api/data/backup", "/api/data/export"):
            archive = zipfile.ZipFile(io.BytesIO((await tab.http.post(path, json={})).content))
            assert "keys.json" not in archive.namelist()
            seen += [archive.read(name).decode("latin-1") for name in archive.namelist()]
    seen.append(caplog.text)
    assert not [text for text in seen if SECRET in text]
    holders = [path.name for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holders == ["keys.json"]
    assert os.name != "posix" or (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600


async def test_with_a_keyring_the_key_is_there_and_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = FakeKeyring()
    monkeypatch.setattr(keys_module, "_keyring", lambda: ring)
    async with manual(tmp_path) as tab:
        assert (await tab.get("/api/models"))["keyPlace"] == "keyring"
        saved = await tab.post("/api/keys/openai", {"key": SECRET})
        assert saved["key"]["place"] == "keyring"
        assert "not encrypted" not in saved["message"]
        assert ring.passwords == {("madang", "openai"): SECRET}
        vendors = {one["name"]: one["key"]["place"] for one in (await tab.get("/api/models"))["vendors"]}
        assert (vendors["openai"], vendors["anthropic"]) == ("keyring", "missing")

        assert (await tab.http.delete("/api/keys/openai")).status_code == 200
        assert (await tab.http.delete("/api/keys/openai")).status_code == 404
        assert ring.passwords == {}
    assert not (tmp_path / "keys.json").exists()


async def test_a_key_of_the_environment_is_told_as_such_and_cannot_be_forgotten(tmp_path: Path) -> None:
    async with hosting(
        tmp_path, settings=Settings(data_dir=tmp_path), environment={"ANTHROPIC_API_KEY": SECRET}
    ) as tab:
        answer = await tab.http.get("/api/models")
        vendors = {one["name"]: one["key"]["place"] for one in answer.json()["vendors"]}
        assert vendors["anthropic"] == "environment"
        assert SECRET not in answer.text
        assert (await tab.http.delete("/api/keys/anthropic")).status_code == 404


async def test_vendors_need_no_package_and_are_named_as_people_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendors_module, "find_spec", lambda name: None)
    async with manual(tmp_path) as tab:
        vendors = (await tab.get("/api/models"))["vendors"]
        titles = {one["name"]: one["title"] for one in vendors if one["isInstalled"]}
        assert titles == {"anthropic": "Anthropic", "google": "Google", "openai": "OpenAI"}

        for provider in titles:
            await tab.post("/api/models", {"name": f"my-{provider}", "provider": provider, "model": "x"})
        body = {"name": "other", "provider": "openai-responses", "model": "x"}
        refused = await tab.http.post("/api/models", json=body)
        assert refused.status_code == 409
        assert "madang[openai]" in refused.json()["hint"]


async def test_wrong_models_and_keys_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    async with manual(tmp_path) as tab:
        url = "https://models.example/v1"
        for body, status in [
            ({}, 400),
            ({"name": "x", "model": "m"}, 400),
            ({"name": "x", "model": "m", "url": url, "provider": "openai"}, 400),
            ({"name": "x", "model": "m", "url": "ftp://models.example"}, 400),
            ({"name": "x", "model": "m", "url": f"https://me:{SECRET}@models.example/v1"}, 400),
            ({"name": "a:b", "model": "m", "url": url}, 400),
            ({"name": "a#b", "model": "m", "url": url}, 400),
            ({"name": "a\u202eb", "model": "m", "url": url}, 400),
            ({"name": "x", "model": "m", "provider": "nobody"}, 404),
            ({"name": "x", "model": "m", "url": url, "windowTokens": 1}, 400),
            ({"name": "x", "model": "m", "url": url, "key": "two words"}, 400),
        ]:
            answer = await tab.http.post("/api/models", json=body)
            assert answer.status_code == status, (body, answer.text)
            assert SECRET not in answer.text
        assert (await tab.http.post("/api/models/default", json={"name": "nothing"})).status_code == 404
        assert (await tab.http.post("/api/keys/other", json={"key": SECRET})).status_code == 404
        assert (await tab.http.delete("/api/keys/other")).status_code == 404
    assert not (tmp_path / "config.toml").exists()
    assert not (tmp_path / "keys.json").exists()


async def test_a_file_that_says_something_else_stays_and_so_does_the_catalogue(tmp_path: Path) -> None:
    text = 'models = { mine = { url = "http://127.0.0.1:1/v1", model = "x" } }\n'
    (tmp_path / "config.toml").write_text(text)
    configs = {"mine": ModelConfig(url="http://127.0.0.1:1/v1", model="x")}
    async with manual(tmp_path, models=configs) as tab:
        assert (await tab.http.delete("/api/models/mine")).status_code == 409
        assert model_of(await tab.get("/api/models"), "mine")["model"] == "x"
    assert (tmp_path / "config.toml").read_text() == text


async def test_a_limit_on_cost_needs_a_model_whose_prices_are_known(tmp_path: Path) -> None:
    priced = ModelConfig(url="http://127.0.0.1:1/v1", model="x", input_price=1.0, output_price=2.0)
    free = ModelConfig(url="http://127.0.0.1:1/v1", model="x")
    async with manual(tmp_path, models={"priced": priced, "free": free}) as tab:
        made = await make(tab, "editor")
        body = {"version": made["version"], "limits": {"cost": 2.5}}
        assert (await tab.http.patch("/api/assistants/editor", json={**body, "model": "free"})).status_code == 400
        assert (await tab.http.patch("/api/assistants/editor", json={**body, "model": "priced"})).status_code == 200


async def test_requests_that_leave_are_counted_by_host_and_those_that_stay_are_not(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        server.plays(answers(Say("ready")))
        await tab.post("/api/models", {"name": "near", "url": f"http://127.0.0.1:{server.port}/v1", "model": "x"})
        await tab.post("/api/models", {"name": "far", "url": "http://Models.invalid/v1", "model": "x", "key": SECRET})
        assert (await tab.post("/api/models/try", {"name": "near"}))["isOk"]
        assert (await tab.get("/api/requests"))["hosts"] == []

        for _ in range(2):
            assert not (await tab.post("/api/models/try", {"name": "far"}))["isOk"]
        [host] = (await tab.get("/api/requests"))["hosts"]
        assert (host["host"], host["purpose"], host["count"]) == ("models.invalid", "model", 2)
    async with manual(tmp_path) as tab:
        assert [one["count"] for one in (await tab.get("/api/requests"))["hosts"]] == [2]


async def test_the_first_model_is_the_default_and_answers_the_next_message(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        server.plays(answers(Say("Hello back.")))
        added = await tab.post("/api/models", model_on(server))
        assert added["default"] == "mine"
        me = await tab.get("/api/me")
        assert (me["model"], me["isModelFixed"]) == ("mine", False)
        session = await tab.new_session()
        await tab.write(session, "Hello")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert "Hello back." in str(await tab.messages(session))

        again = await tab.post("/api/models", model_on(server, "second"))
        assert again["default"] == "mine"
    assert tomllib.loads((tmp_path / "config.toml").read_text())["model"] == "mine"
    assert read_settings({}, data_dir=str(tmp_path)).default_model == "mine"


async def test_the_first_model_takes_over_a_session_that_waits_for_the_person(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        session = await tab.new_session()
        await tab.write(session, "Is anybody there?")
        await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["model"])

        server.plays(answers(Ask("prompt_user", '{"prompt": "Which tea?", "type": "text"}')))
        await tab.post("/api/models", model_on(server))
        await tab.write(session, "And now?")
        [question] = await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["text"])
        assert "Is anybody there?" in str(server.requests[0].body)
        assert "And now?" in str(server.requests[0].body)

        server.plays(answers(Say("Green it is.")))
        await tab.post(f"/api/inbox/{question['id']}", {"answer": "green"})
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert "Green it is." in str(await tab.messages(session))


async def test_a_model_that_is_chosen_for_a_message_takes_over_a_session_that_waits(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        server.plays(answers(Say("Hello back.")))
        await tab.post("/api/models", model_on(server))
        await tab.post("/api/models/default", {"name": ""})
        session = await tab.new_session()
        await tab.write(session, "Is anybody there?")
        await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["model"])

        await tab.post(f"/api/sessions/{session}/messages", {"text": "And now?", "model": "mine"})
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert "Hello back." in str(await tab.messages(session))


async def test_a_model_that_is_chosen_while_another_works_answers_that_message(tmp_path: Path) -> None:
    async with ModelServer() as first, ModelServer() as second, manual(tmp_path) as tab:
        is_asked, may_answer = asyncio.Event(), asyncio.Event()

        async def play(exchange: Exchange) -> None:
            is_asked.set()
            await may_answer.wait()
            await answers(Say("I am the first."))(exchange)

        first.plays(play)
        second.plays(answers(Say("I am the second.")))
        await tab.post("/api/models", model_on(first, "first"))
        await tab.post("/api/models", model_on(second, "second"))
        await tab.post("/api/models/default", {"name": "first"})
        session = await tab.new_session()
        await tab.write(session, "Who?")
        async with asyncio.timeout(60):
            await is_asked.wait()
        await tab.post(f"/api/sessions/{session}/messages", {"text": "And who now?", "model": "second"})
        may_answer.set()
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert (len(first.requests), len(second.requests)) == (1, 1)
        assert "I am the second." in str(await tab.messages(session))


async def test_the_next_model_is_the_default_where_the_default_one_was_removed(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        await tab.post("/api/models", model_on(server))
        assert (await tab.http.delete("/api/models/mine")).status_code == 200
        assert (await tab.get("/api/models"))["default"] == ""
        assert (await tab.post("/api/models", model_on(server, "other")))["default"] == "other"


async def test_a_default_model_that_was_written_by_hand_meanwhile_stays_in_the_file(tmp_path: Path) -> None:
    async with ModelServer() as server, manual(tmp_path) as tab:
        (tmp_path / "config.toml").write_text('model = "openai:gpt"\n')
        await tab.post("/api/models", model_on(server))
    assert tomllib.loads((tmp_path / "config.toml").read_text())["model"] == "openai:gpt"


async def test_whose_a_session_is_that_names_no_assistant_is_told(tmp_path: Path) -> None:
    async with manual(tmp_path) as tab:
        await make(tab, "Baker")
        me = await tab.get("/api/me")
        session = await tab.get(f"/api/sessions/{await tab.new_session()}")
        assert session["assistantId"] == me["assistantId"] != "Baker"
