"""Launch codes: how a tab gets the browser token without the token ever being in an address.

And the other way round: how a server shows a tab that it knows the token, before the tab sends it.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable

from madang.core.errors import Denied
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.wire import HelloAnswer, HelloQuery, LaunchAnswer, LaunchBody, LaunchCodeAnswer, NoBody

CODE_S = 60.0
MAX_CODES = 16


class LaunchCodes:
    """Codes of this process. Each is good once, for a minute, and stands in the fragment of an address.

    A fragment is sent to no server and is in no log of one; the history of a browser may keep it, when it is used up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expiries: dict[str, float] = {}
        self.were_used = False
        """Whether a tab came in by any of them."""

    def make(self) -> str:
        """Return a new code; of too many the oldest ends."""
        self._drop_expired()
        while len(self._expiries) >= MAX_CODES:
            del self._expiries[next(iter(self._expiries))]
        code = secrets.token_urlsafe(32)
        self._expiries[code] = self._clock() + CODE_S
        return code

    def use(self, code: str) -> bool:
        """Use a code up; False if it is none, was used, or is too old."""
        self._drop_expired()
        # Compared as a whole with each: how long it takes tells nothing of a code.
        match = next((one for one in list(self._expiries) if secrets.compare_digest(one.encode(), code.encode())), "")
        is_good = bool(match) and self._expiries.pop(match, None) is not None
        self.were_used |= is_good
        return is_good

    def _drop_expired(self) -> None:
        now = self._clock()
        for code in [code for code, expiry in self._expiries.items() if expiry <= now]:
            del self._expiries[code]


def server_proof(token: str, origin: str, nonce: str) -> str:
    """Return what only a server with the token can say of a nonce.

    The origin is in it: what the server at another port says cannot be passed on as an answer of this one.
    """
    return hmac.digest(token.encode(), f"madang hello\n{origin}\n{nonce}".encode(), "sha256").hex()


def launch_operations(codes: LaunchCodes, token: str, origin: str) -> list[Operation]:
    async def hello(request: ApiRequest) -> HelloAnswer:
        """Prove that this server knows the browser token: a tab that lost it asks before it sends the token again."""
        query: HelloQuery = request.query
        return HelloAnswer(proof=server_proof(token, origin, query.nonce))

    async def launch(request: ApiRequest) -> LaunchAnswer:
        """Give the browser token for a launch code."""
        body: LaunchBody = request.body
        if not codes.use(body.code):
            raise Denied(
                say("This address was used already, or is older than a minute."),
                hint=say("Open the chat again from the terminal: madang web"),
            )
        return LaunchAnswer(token=token)

    async def new_code(request: ApiRequest) -> LaunchCodeAnswer:
        """Make a launch code, for a second `madang web` on the same data folder."""
        return LaunchCodeAnswer(code=codes.make())

    return [
        Operation("GET", "/api/hello", hello, HelloAnswer, query=HelloQuery, needs_token=False),
        Operation("POST", "/api/launch", launch, LaunchAnswer, LaunchBody, needs_token=False),
        Operation("POST", "/api/launch-codes", new_code, LaunchCodeAnswer, NoBody, status=201),
    ]
