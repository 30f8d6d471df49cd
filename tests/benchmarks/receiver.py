"""A receiver of webhooks that does as little as one can, in a process of its own."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_receiver() -> Iterator[int]:
    """Gives its port, at which it answers on every address of this machine."""
    command = [sys.executable, "-m", "tests.benchmarks.receiver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline() if process.stdout else 0)
        finally:
            process.terminate()


def receive() -> None:
    """Prints its port, and answers until it is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK")
        writer.close()

    async def serve() -> None:
        listening = socket.create_server(("0.0.0.0", 0), backlog=512)
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        async with await asyncio.start_server(answer, sock=listening) as server:
            await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    receive()
