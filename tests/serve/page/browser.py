"""A headless Chromium over its debugging pipe (DevTools protocol): messages of JSON with a NUL behind each."""
import base64
import json
import os
import select
import shutil
import subprocess
import time

NUMBERS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
NAMES = {" ": "Space"}
ALT, SHIFT = 1, 8
PATIENCE = int(os.environ.get("FR_PATIENCE", "600"))  # seconds; the machine may be busy


def find():
    """The program of a Chromium that is installed; None: there is none."""
    given = os.environ.get("FR_BROWSER")
    names = [given] if given else ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    def __init__(self, folder, width=1280, height=800, dark=False, scale=1):
        down, self.write = os.pipe()
        self.read, up = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-pipe", "--user-data-dir=" + folder, "--hide-scrollbars", "about:blank"]
        os.set_inheritable(down, True)
        os.set_inheritable(up, True)

        def take_pipes():  # the browser reads from 3 and writes to 4
            a, b = os.dup(down), os.dup(up)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.log = open(os.path.join(folder, "browser.log"), "wb")
        self.process = subprocess.Popen([find(), *flags], preexec_fn=take_pipes, close_fds=False,
                                        stdout=self.log, stderr=self.log)
        os.close(down)
        os.close(up)
        self.held, self.number, self.events, self.session = b"", 0, [], None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def message(self):
        until = time.time() + PATIENCE
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.read], [], [], 1)
            got = os.read(self.read, 1 << 20) if ready else None
            if got == b"" or time.time() > until:
                raise RuntimeError("the browser does not answer")
            self.held += got or b""
        one, self.held = self.held.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        while True:
            said = self.message()
            if said.get("id") == self.number:
                if "error" in said:
                    raise RuntimeError("%s: %s" % (method, said["error"]))
                return said["result"]
            self.events.append(said)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def js(self, expression):
        """The value of an expression, which may be a promise."""
        said = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True,
                         userGesture=True)
        if "exceptionDetails" in said:
            raise AssertionError("%s: %s" % (expression, said["exceptionDetails"]["exception"].get("description")))
        return said["result"].get("value")

    def until(self, expression, seconds=PATIENCE):
        """Waits until the expression holds."""
        end = time.time() + seconds
        while True:
            value = self.js(expression)
            if value:
                return value
            if time.time() > end:
                raise AssertionError("never: " + expression)
            time.sleep(0.05)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, key, code=None, modifiers=0, number=0):
        for kind in ("keyDown", "keyUp"):
            text = {"Enter": "\r", " ": " "}.get(key)
            more = {"text": text} if text and kind == "keyDown" and not modifiers else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or NAMES.get(key, key), modifiers=modifiers,
                      windowsVirtualKeyCode=number or NUMBERS.get(key, 0), **more)

    def complaints(self):
        """What the page threw or was refused, as lines."""
        out = []
        for e in self.events:
            if e.get("method") == "Runtime.exceptionThrown":
                out.append(json.dumps(e["params"]["exceptionDetails"]))
            if e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error":
                out.append(e["params"]["entry"]["text"])
            if e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "assert", "warning"):
                out.append(json.dumps(e["params"]["args"]))
        return out

    def requests(self):
        """URLs that were asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        try:
            os.write(self.write, b'{"id":1000000,"method":"Browser.close"}\0')
            self.process.wait(60)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.log.close()
