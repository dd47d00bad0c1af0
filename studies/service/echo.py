"""What any service of this kind must do at least: decode a request, encode an answer."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabcost.wire.messages import DecisionAnswer, DecisionRequest

_requests = msgspec.json.Decoder(DecisionRequest)
_answers = msgspec.json.Decoder(DecisionAnswer)
_encoder = msgspec.json.Encoder()


def application(answer: DecisionAnswer) -> Starlette:
    """Every POST is decoded, and answered with the same answer, encoded each time."""

    async def echo(request: Request) -> Response:
        _requests.decode(await request.body())
        return Response(_encoder.encode(answer), 201, media_type="application/json")

    return Starlette(routes=[Route("/echo", echo, methods=["POST"])])


def main() -> None:
    """Serve on a free port, which is printed."""
    answer = _answers.decode(Path(sys.argv[1]).read_bytes())
    bound = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        application(answer), loop="uvloop", http="httptools", access_log=False, log_level="error"
    )
    print(f"listening on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
