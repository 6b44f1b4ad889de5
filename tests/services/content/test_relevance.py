"""What comes first: the same on every back end."""

from __future__ import annotations

from tests.asking import Asker
from tests.services.content.contents import add, search

FILLING = "The river runs through the valley and past the old mill. "


async def test_a_rare_word_weighs_more_than_common_ones(asker: Asker) -> None:
    for number in range(8):
        await add(asker, f"{FILLING}Report {number} on the harvest and the weather.")
    rare = await add(asker, f"{FILLING}A zebra was seen.")

    assert (await search(asker, "harvest report weather zebra"))[0] == rare


async def test_a_word_that_is_there_more_often_weighs_more_but_less_each_time(asker: Asker) -> None:
    once = await add(asker, f"{FILLING}zebra lion")
    often = await add(asker, f"{FILLING}zebra zebra zebra zebra")

    assert await search(asker, "zebra") == [often, once]
    assert await search(asker, "zebra lion") == [once, often]


async def test_of_two_texts_with_the_same_words_the_shorter_comes_first(asker: Asker) -> None:
    long = await add(asker, "A zebra stood there. " + " ".join(f"word{number}" for number in range(100)))
    short = await add(asker, "A zebra stood there.")

    assert await search(asker, "zebra") == [short, long]
