# SPDX-License-Identifier: Apache-2.0
"""A client of `shardscope serve` in plain Python, to start from in other languages: serve_client.py CHECKPOINT ADDRESS.

Prints what the checkpoint is, and the first row of a tensor, such as norm.weight#exp_avg.
"""

import json
import os
import struct
import subprocess
import sys
from typing import Any, Tuple


class Client:
    def __init__(self) -> None:
        program = os.environ.get("SHARDSCOPE_PROGRAM", "shardscope")
        self.server = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        hello, _ = self.receive()
        if hello["protocol"] != 1:
            sys.exit(f"the server speaks protocol {hello['protocol']}")
        self.last = 0

    def receive(self) -> Tuple[Any, bytes]:
        assert self.server.stdout is not None
        sizes = self.server.stdout.read(8)
        if len(sizes) < 8:
            sys.exit("the server has ended")
        header, payload = struct.unpack("<II", sizes)
        return json.loads(self.server.stdout.read(header)), self.server.stdout.read(payload)

    def ask(self, what: str, payload: bytes = b"", **fields: Any) -> Tuple[int, bytes, Any]:
        """The id of the request, the data of its reply, and the header of the last frame."""
        self.last += 1
        header = json.dumps({"id": self.last, "ask": what, **fields}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(struct.pack("<II", len(header), len(payload)) + header + payload)
        self.server.stdin.flush()
        data = b""
        while True:
            reply, payload = self.receive()
            if reply["reply"] == "error":
                sys.exit(json.loads(payload)["message"])
            if reply["reply"] == "done":
                return self.last, data, reply
            data += payload if reply["reply"] == "data" else b""


words = [os.fsencode(word) + b"\0" for word in (*sys.argv[1:], "inspect", "show", "--limit", "0")]
checkpoint, address, inspect, show, *limit = words
client = Client()
print(json.loads(client.ask("answer", inspect + checkpoint)[1])["kind"])
opened = client.ask("open", checkpoint)[0]
shape = json.loads(client.ask("answer", b"".join([show, checkpoint, address, *limit]))[1])["shape"]
box = {"offsets": [0] * len(shape), "sizes": [1] * (len(shape) - 1) + shape[-1:]} if shape else {}
_, data, last = client.ask("elements", of=opened, address=sys.argv[2], **box)
if last["dtype"] == "float32":
    print(*struct.unpack(f"<{len(data) // 4}f", data))
