"""A headless Chromium, driven through its DevTools protocol over a pipe."""
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium")


class Browser:
    """One tab. Records what the page logs, throws and requests."""

    def __init__(self, width=1280, height=900):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.next_id = 0
        self.session = None
        self.buffer = b""
        self.problems = []   # console errors, exceptions, policy violations
        self.requests = []   # requested addresses
        self.start(width, height)
        targets = self.call("Target.getTargets")["targetInfos"]
        tab = next(t for t in targets if t["type"] == "page")["targetId"]
        self.session = self.call("Target.attachToTarget",
                                 targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def start(self, width, height):
        """Start Chromium, which reads commands from descriptor 3 and answers on
        4."""
        its_in, self.out = os.pipe()
        self.into, its_out = os.pipe()
        command = " ".join(
            [f"exec {CHROMIUM} --headless=new --no-sandbox --disable-gpu",
             "--disable-dev-shm-usage --no-first-run --hide-scrollbars",
             f"--remote-debugging-pipe --window-size={width},{height}",
             f"--user-data-dir={self.folder.name} about:blank",
             f"3<&{its_in} 4>&{its_out}"])
        self.process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=(its_in, its_out),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(its_in)
        os.close(its_out)

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], 60)[0]:
                raise RuntimeError("chromium is silent")
            data = os.read(self.into, 1 << 20)
            if not data:
                raise RuntimeError("chromium has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
                "error", "warning", "assert"):
            self.problems.append(json.dumps(params["args"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=script,
                           awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:800])
        return result["result"].get("value")

    def open(self, address):
        """Open a page; returns seconds until it is loaded and has drawn two
        frames."""
        start = time.monotonic()
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=str(address))
        self.run("""new Promise((done) => {
          const later = () => requestAnimationFrame(() =>
              requestAnimationFrame(() => done(1)));
          if (document.readyState === 'complete') later();
          else addEventListener('load', later);
        })""")
        return time.monotonic() - start

    def wait_for(self, script, seconds):
        """Seconds until the expression is true; None if it never is."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            if self.run(script):
                return time.monotonic() - start
            time.sleep(0.05)
        return None

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def set_dark(self, is_dark):
        value = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": value}])

    def picture(self, path, clip=None):
        """Take a picture of the page, or of clip = (x, y, width, height)."""
        if clip is None:  # parts outside the window are not drawn
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = (0, 0, size["width"], min(size["height"], 16000))
            self.resize(clip[2], clip[3])
            self.run("new Promise((done) => setTimeout(done, 500))")
        keys = ("x", "y", "width", "height")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={**dict(zip(keys, clip)), "scale": 1})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
