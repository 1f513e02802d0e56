"""chimera watch: who can reach it, how fast it follows, how it ends."""
import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import runs
from browser import CHROMIUM, Browser


class Watch:
    """A running `chimera watch`."""

    def __init__(self, run, *flags, **options):
        options.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen(
            [runs.CHIMERA, "watch", str(run), *flags],
            stderr=subprocess.DEVNULL, text=True, **options)
        if options["stdout"] == subprocess.PIPE:
            self.url = self.process.stdout.readline().strip()

    def port(self):
        return int(re.search(r":(\d+)/", self.url).group(1))

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1000

    def close(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=10)
        if self.process.stdout:
            self.process.stdout.close()
        return code


def get(url, **headers):
    """(status, body) of a request."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def listening(port):
    """Addresses that listen at this port, according to ss."""
    text = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], text=True,
                          capture_output=True, check=True).stdout
    return [line.split()[3].rsplit(":", 1)[0] for line in text.splitlines()]


class WatchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_dir = runs.make_run(pathlib.Path(folder.name) / "run",
                                     steps=20, traced=0)
        self.set_state("running", 20)

    def set_state(self, state, step):
        (self.run_dir / "state.json").write_text(
            json.dumps({"state": state, "step": step, "exit": 0}))

    def append(self, first, last):
        with open(self.run_dir / "metrics.jsonl", "a") as metrics:
            for step in range(first, last + 1):
                metrics.write(runs.metrics_line(step))

    def watch(self, *flags, **options):
        watch = Watch(self.run_dir, *flags, **options)
        self.addCleanup(lambda: watch.process.poll() is None and watch.close())
        return watch

    def test_listens_on_this_machine_alone(self):
        watch = self.watch()
        self.assertRegex(watch.url, r"^http://127\.0\.0\.1:\d+/$")
        self.assertEqual(listening(watch.port()), ["127.0.0.1"])
        self.assertEqual(get(watch.url)[0], 200)
        # A foreign name that resolves to this host, and paths that are not
        # served.
        self.assertEqual(get(watch.url, Host="evil.example")[0], 403)
        for path in ("config.toml", "../config.toml", "%2e%2e/config.toml"):
            self.assertEqual(get(watch.url + path)[0], 404, path)
        self.assertEqual(watch.close(), 0)

    def test_other_addresses_need_the_token(self):
        watch = self.watch("--host", "0.0.0.0")
        match = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/([0-9a-f]{32})/",
                             watch.url)
        self.assertTrue(match, watch.url)
        self.assertEqual(listening(watch.port()), ["0.0.0.0"])
        own = f"http://127.0.0.1:{match[1]}"
        self.assertEqual(get(f"{own}/{match[2]}/")[0], 200)
        for path in ("/", "/run.json", f"/{match[2][:-1]}/", f"/{'0' * 32}/"):
            self.assertEqual(get(own + path)[0], 404, path)

    def test_port_that_is_taken_is_refused(self):
        watch = self.watch()
        run = subprocess.run(
            [runs.CHIMERA, "watch", self.run_dir, "--port", str(watch.port())],
            text=True, capture_output=True, timeout=20)
        self.assertEqual(run.returncode, 2)
        self.assertIn("error[E412]", run.stderr)

    def test_ends_with_its_terminal(self):
        ours, its = pty.openpty()
        watch = self.watch(stdout=its, stdin=its, start_new_session=True)
        os.close(its)
        text = b""
        while b"http://" not in text:
            text += os.read(ours, 1000)
        os.close(ours)
        self.assertEqual(watch.process.wait(timeout=5), 0)

    def test_memory_is_bounded(self):
        watch = self.watch()
        get(watch.url + "update.json?version=0&from=0")
        before = watch.memory_mb()
        line = runs.metrics_line(1)
        with open(self.run_dir / "metrics.jsonl", "a") as metrics:
            for step in range(21, 300001):
                metrics.write(line.replace('"step": 1', f'"step": {step}', 1))
        time.sleep(0.3)
        get(watch.url + "update.json?version=0&from=0")
        status, body = get(watch.url + "run.json")
        self.assertEqual((status, json.loads(body)["steps"]), (200, 300000))
        self.assertLess(len(body), 2_000_000)
        print(f"memory: {before:.0f} MB, after 300,000 steps "
              f"{watch.memory_mb():.0f} MB")
        self.assertLess(watch.memory_mb() - before, 30)

    def test_idle_and_broken_clients_hold_nobody_up(self):
        watch = self.watch()
        clients = [socket.create_connection(("127.0.0.1", watch.port()))
                   for _ in range(20)]
        clients[0].sendall(b"GET / HT")
        clients[1].sendall(b"x" * 100000)
        clients[2].sendall(b"\r\n\r\n")
        self.assertEqual(get(watch.url)[0], 200)
        for client in clients:
            client.close()

    def test_page_follows_the_run(self):
        watch = self.watch()
        with Browser() as browser:
            browser.open(watch.url)
            self.assertEqual(browser.run("runs[0].steps"), 20)
            slowest = 0
            for step in range(21, 26):
                self.append(step, step)
                seconds = browser.wait_for(
                    "document.querySelector('#headlines').innerText"
                    f".includes('{step} of')", 5)
                self.assertIsNotNone(seconds)
                slowest = max(slowest, seconds)
            print(f"live: a step is seen within {slowest:.2f} s")
            self.assertLess(slowest, 2)
            # The run continues from an earlier step, then ends and leaves its
            # trace.
            lines = (self.run_dir / "metrics.jsonl").read_text().splitlines(True)
            (self.run_dir / "metrics.jsonl").write_text("".join(lines[:10]))
            self.append(11, 12)
            self.assertIsNotNone(browser.wait_for("runs[0].steps === 12", 5))
            self.append(13, 5000)
            self.assertIsNotNone(browser.wait_for("runs[0].steps === 5000", 5))
            self.assertEqual(browser.run(
                "runs[0].curves.loss.steps.every((s, i, all) =>"
                " i === 0 || s > all[i - 1])"), True)
            schedule = self.run_dir / "schedule.sched"
            runs.chimera("simulate", "--schedule", schedule, "--steps", "2",
                         "--format", "trace", "-o", self.run_dir / "trace.json")
            self.set_state("done", 5000)
            self.assertIsNotNone(browser.wait_for(
                "document.querySelectorAll('#step figure').length === 2 &&"
                "document.querySelector('#status').textContent === 'done'", 10))
            self.assertEqual(browser.problems, [])


if __name__ == "__main__":
    if not CHROMIUM:
        print("SKIPPED: chromium is not installed")
        raise SystemExit(77)
    unittest.main(verbosity=2)
