# SPDX-License-Identifier: Apache-2.0
"""A client of `shardscope serve` in plain Python, to start from in other languages: serve_client.py CHECKPOINT ADDRESS.

Prints what the checkpoint is, and the first row of a tensor, such as norm.weight#exp_avg.
"""

import json
import os
import struct
import subprocess
import sys


class Client:
    def __init__(self):
        program = os.environ.get("SHARDSCOPE_PROGRAM", "shardscope")
        self.server = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        hello, _ = self.receive()
        if hello["protocol"] != 1:
            sys.exit(f"the server speaks protocol {hello['protocol']}")
        self.last = 0

    def receive(self):
        sizes = self.server.stdout.read(8)
        if len(sizes) < 8:
            sys.exit("the server has ended")
        header, payload = struct.unpack("<II", sizes)
        return json.loads(self.server.stdout.read(header)), self.server.stdout.read(payload)

    def ask(self, what, payload=b"", **fields):
        """The id of the request, the data of its reply, and the header of the last frame."""
        self.last += 1
        header = json.dumps({"id": self.last, "ask": what, **fields}).encode()
        self.server.stdin.write(struct.pack("<II", len(header), len(payload)) + header + payload)
        self.server.stdin.flush()
        data = b""
        while True:
            reply, payload = self.receive()
            if reply["reply"] == "error":
                sys.exit(json.loads(payload)["message"])
            if reply["reply"] == "done":
                return self.last, data, reply
            if reply["reply"] == "data":
                data += payload


def words(*texts):
    return b"".join(os.fsencode(text) + b"\0" for text in texts)


checkpoint, address, client = *sys.argv[1:], Client()
_, answer, _ = client.ask("answer", words("inspect", checkpoint))
print(json.loads(answer)["kind"])
opened, _, _ = client.ask("open", words(checkpoint))
_, answer, _ = client.ask("answer", words("show", checkpoint, address, "--limit", "0"))
shape = json.loads(answer)["shape"]
box = {"offsets": [0] * len(shape), "sizes": [1] * (len(shape) - 1) + shape[-1:]} if shape else {}
_, data, last = client.ask("elements", of=opened, address=address, **box)
if last["dtype"] == "float32":
    print(*struct.unpack(f"<{len(data) // 4}f", data))
