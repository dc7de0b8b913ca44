# SPDX-License-Identifier: Apache-2.0
"""A server that answers badly, and the built program: test_hostile.py PROGRAM SOURCE. Standard library only."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
RUN = SOURCE / "tests/data/samples/zero2-w2"
MODIFIED = ("2026-11-30T13:32:20.000Z", "Mon, 30 Nov 2026 13:32:20 GMT")


def write_keys(path, access):
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(f"[default]\naws_access_key_id = {access}\naws_secret_access_key = geheimgeheim\n")
    new.replace(path)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = {f"run/{file.relative_to(RUN)}": file.read_bytes() for file in RUN.rglob("*") if file.is_file()}
        self.mode = ""
        self.asked = []
        self.busy = 0
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.live = self.most = 0  # questions under way


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        if length is not None:
            self.close_connection = True

    def do_HEAD(self):
        self.take()

    def do_GET(self):
        try:
            self.take()
        except OSError:  # the program has had enough
            self.close_connection = True

    def take(self):
        server = self.server
        url = urlsplit(self.path)
        if server.mode == "far":
            with server.lock:
                server.live += 1
                server.most = max(server.most, server.live)
            time.sleep(0.05)
            with server.lock:
                server.live -= 1
        server.asked.append((self.command, self.path, self.headers.get("Range")))
        if server.mode == "silent":
            server.ended.wait(100)
            return
        if server.mode == "busy" and server.busy < 2:
            server.busy += 1
            self.answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return
        if server.mode == "moved":
            self.answer(301, x_amz_bucket_region="eu-south-2", Location="http://127.0.0.1:1/other")
            return
        if server.mode == "escape":
            self.answer(403, "<Error><Code>A\x1b[31m</Code><Message>\x1b]0;owned\x07</Message></Error>".encode())
            return
        if server.mode == "expired":
            self.answer(400, b"<Error><Code>ExpiredToken</Code></Error>")
            return
        if server.mode == "renewed" and not self.is_signed_anew():
            self.answer(400, b"<Error><Code>ExpiredToken</Code></Error>")
            return
        key = unquote(url.path).removeprefix("/bucket").removeprefix("/")
        if key:
            self.give(key)
        else:
            self.list(parse_qs(url.query))

    def is_signed_anew(self):
        """The third question finds its keys expired; by then somebody has renewed them."""
        server = self.server
        if "Credential=AKNEW/" in self.headers.get("Authorization", ""):
            return True
        if len(server.asked) < 3:
            return True
        write_keys(server.credentials, "AKNEW")
        return False

    def list(self, query):
        prefix = query.get("prefix", [""])[0]
        mode = self.server.mode
        names = [key for key in self.server.objects if key.startswith(prefix)]
        files = [key for key in names if "/" not in key[len(prefix) :]]
        folders = sorted({prefix + key[len(prefix) :].split("/")[0] + "/" for key in names} - {f + "/" for f in files})
        parts = [self.entry(key) for key in files]
        parts += [f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders]
        parts = parts[: int(query.get("max-keys", ["1000"])[0])]
        if mode == "above":
            parts.append(self.entry(prefix + "../../etc/passwd"))
        elif mode == "elsewhere":
            parts.append(self.entry("other/file"))
        elif mode == "endless":
            parts = ["<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>"] + parts
        elif mode == "large-listing":
            parts.append("<x>" + "y" * (20 << 20) + "</x>")
        elif mode == "deep":
            parts.append("<a>" * 2_000_000)
        self.answer(200, ("<ListBucketResult>" + "".join(parts) + "</ListBucketResult>").encode())

    def entry(self, key):
        size = len(self.server.objects.get(key, b""))
        if self.server.mode == "larger":
            size += 1 << 40
        return (
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>{self.tag()}</ETag>"
            f"<LastModified>{MODIFIED[0]}</LastModified></Contents>"
        )

    def tag(self):
        return "a b\nx-header: 1" if self.server.mode == "tag" else '"v1"'

    def give(self, key):
        body = self.server.objects.get(key)
        mode = self.server.mode
        if body is None:
            self.answer(404)
            return
        headers = {"ETag": '"v2"' if mode == "other-tag" else '"v1"', "Last_Modified": MODIFIED[1]}
        asked = self.headers.get("Range")
        if asked is None:
            self.answer(200, body, **headers)
            return
        begin, end = (int(each) for each in asked.removeprefix("bytes=").split("-"))
        part, said = body[begin : end + 1], f"bytes {begin}-{end}/{len(body)}"
        if mode == "whole":
            self.answer(200, body + b"x" * (end + 2), **headers)
        elif mode == "more":
            self.answer(206, part + b"x", **headers, Content_Range=said)
        elif mode == "less":
            self.answer(206, part[:-1], length=len(part), **headers, Content_Range=said)
        elif mode == "shorter":
            self.answer(206, part[:-1], **headers, Content_Range=said)
        elif mode == "other-range":
            self.answer(206, part, **headers, Content_Range=f"bytes {begin + 1}-{end + 1}/{len(body)}")
        else:
            self.answer(206, part, **headers, Content_Range=said)


class Hostile(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.ended.set)
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **kept,
            "HOME": self.home.name,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.server_port}",
            "AWS_ACCESS_KEY_ID": "AKTEST",
            "AWS_SECRET_ACCESS_KEY": "geheimgeheim",
            **variables,
        }

    def start_program(self, verb, *words, **variables):
        return subprocess.Popen(
            [PROGRAM, verb, "s3://bucket/run", *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(**variables),
        )

    def run_program(self, mode, verb="inspect", *words, seconds=60, **variables):
        self.server.mode = mode
        done = subprocess.run(
            [PROGRAM, verb, "s3://bucket/run", *words, "--json"],
            capture_output=True,
            env=self.environment(**variables),
            timeout=seconds,
        )
        self.assertNotIn(b"geheim", done.stdout + done.stderr)
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        return done.returncode, json.loads(done.stdout)

    def assert_fails(self, mode, code, says="", status=3, **variables):
        returned, answer = self.run_program(mode, **variables)
        self.assertEqual(returned, status, f"{mode}: {answer}")
        self.assertEqual(answer["code"], code, f"{mode}: {answer}")
        self.assertIn(says, answer["message"] + str(answer["hint"]))
        return answer

    def test_an_honest_one(self):
        code, answer = self.run_program("", "verify")
        self.assertEqual(code, 0, answer)

    def test_a_far_one_is_not_asked_one_after_the_other(self):
        name = "run/global_step6/bf16_zero_pp_rank_{}_mp_rank_00_optim_states.pt"
        for rank in range(2, 200):
            self.server.objects[name.format(rank)] = self.server.objects[name.format(0)]
        code, answer = self.run_program("far", "check", "--depth", "headers")
        self.assertIn(code, (0, 1), answer)
        self.assertGreaterEqual(self.server.most, 16)
        self.assertLessEqual(self.server.most, 40)
        self.assertLess(len(self.server.asked), 3 * 200)

    def test_listings(self):
        for mode in ("above", "elsewhere", "endless", "large-listing", "deep", "tag"):
            with self.subTest(mode=mode):
                self.assert_fails(mode, "hostile")

    def test_objects(self):
        for mode, code, status in (
            ("more", "hostile", 3),
            ("whole", "hostile", 3),
            ("other-range", "hostile", 3),
            ("less", "unreadable", 3),
            ("shorter", "unreadable", 3),
            ("other-tag", "source-changed", 6),
        ):
            with self.subTest(mode=mode):
                self.assert_fails(mode, code, status=status)

    def test_sizes_that_are_lies(self):
        code, answer = self.run_program("larger", "check", "--depth", "headers")
        self.assertIn(code, (1, 3, 6), answer)

    def test_redirects_are_not_followed(self):
        error = self.assert_fails("moved", "unreadable", "AWS_REGION=eu-south-2")
        self.assertIn("eu-south-2", error["message"])
        self.assertLess(len(self.server.asked), 10)

    def test_what_it_says_does_not_reach_the_terminal(self):
        self.assert_fails("escape", "unreadable", "refuses access")

    def test_keys_that_have_expired(self):
        self.assert_fails("expired", "unreadable", "at the next try")
        self.assertLess(len(self.server.asked), 6)

    def test_keys_that_are_renewed_meanwhile(self):
        self.server.credentials = Path(self.home.name) / ".aws/credentials"
        write_keys(self.server.credentials, "AKOLD")
        code, answer = self.run_program("renewed", "verify", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.assertEqual(code, 0, answer)
        self.assertIn("AKNEW", self.server.credentials.read_text())

    def test_a_stop_reaches_a_question_under_way(self):
        self.server.mode = "silent"
        process = self.start_program("inspect")
        end = time.monotonic() + 30
        while not self.server.asked and time.monotonic() < end:
            time.sleep(0.05)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(process.returncode, 130, out)

    def test_a_busy_one_is_asked_again(self):
        code, answer = self.run_program("busy")
        self.assertEqual(code, 0, answer)
        self.assertEqual(self.server.busy, 2)

    def test_a_silent_one_is_given_up(self):
        began = time.monotonic()
        self.assert_fails("silent", "unreadable", "does not answer", seconds=90)
        self.assertLess(time.monotonic() - began, 45)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
