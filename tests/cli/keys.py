#!/usr/bin/env python3
"""Keys in the planner's page, pressed in a real browser: keys.py PAGE PROFILE [--pictures FOLDER]

Prints `fault ...` for what is wrong, and `end` at the end. The browser is driven through a pipe by Chrome's DevTools
protocol, in real time."""
import base64
import json
import os
import subprocess
import sys
import time

page, profile = sys.argv[1], sys.argv[2]
pictures = sys.argv[4] if len(sys.argv) > 4 else None
KEYS = {"Tab": 9, "Enter": 13, " ": 32, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "End": 35, "Home": 36}


class Browser:
    def __init__(self):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        # the browser reads from 3 and writes to 4
        def places():
            os.dup2(to_read, 103)
            os.dup2(from_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--user-data-dir=" + profile, "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars", "about:blank"],
            preexec_fn=places, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.sent, self.session, self.rest = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.from_read, 1 << 16)
                if not part:
                    raise SystemExit("fault the browser ended")
                self.rest += part
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise SystemExit("fault " + method + ": " + str(answer["error"]))
                return answer["result"]

    def value(self, expression):
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise SystemExit("fault " + expression + ": " + str(said["exceptionDetails"].get("exception", {}).get("description")))
        return said["result"].get("value")

    def press(self, key, shift=False):
        of = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **of, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **of)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def until(self, what, expression, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.value(expression):
                return True
            time.sleep(0.02)
        fault("never:", what)
        return False

    def answered(self, what):
        return self.until(what, "document.readyState === 'complete' && document.getElementById('said').textContent.slice(0, 8) !== 'Starting' && "
                                "!document.getElementById('answer').hasAttribute('data-busy')")

    def picture(self, name, width, height, scheme):
        if not pictures:
            return
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        time.sleep(0.5)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(os.path.join(pictures, name + ".png"), "wb") as file:
            file.write(base64.b64decode(data))


def fault(*words):
    print("fault", *words)


def place(b):
    """Where the focus is: an id, or a tag with its text; and whether it is seen."""
    return b.value("""(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
        return [e.id || e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent).trim().slice(0, 30),
            e === document.body || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.bottom > 0 && r.top < innerHeight)]; })()""")


b = Browser()
b.call("Page.enable")
b.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
b.call("Page.navigate", url=page)
b.answered("the first answer")
print("curve after", round(b.value("performance.getEntriesByName('curve')[0].startTime")), "ms")

# Tab goes through the form in the order in which it is read, then through the answer; each stop is seen.
want = ["network", "SUMMARY A network of your own", "phase", "batch", "accumulate", "precision", "optimizer", "device", "machine", "nodes",
        "per", "interconnect", "tp", "pp", "zero", "layout", "global", "search", "epochs", "dataset", "tokens", "price"]
seen = []
for _ in range(80):
    b.press("Tab")
    at, visible = place(b)
    if at.startswith("BODY") or at in seen:
        break
    if not visible:
        fault("the focus is not seen at", at)
    seen.append(at)
if seen[:len(want)] != want:
    fault("Tab goes", seen)
for stop in ("SUMMARY Numbers of the curve", "copy", "SUMMARY What it prints"):
    if stop not in seen:
        fault("Tab does not come to", stop, "but to", seen[len(want):])

# Without a mouse: another network, then what is below a summary, its table, and a choice of a list.
b.value("document.getElementById('network').focus()")
b.value("document.getElementById('network').select()")
b.type("resnet18")
b.until("an answer to a typed network", "document.getElementById('said').textContent.includes('of resnet18 takes')")
b.answered("resnet18")
b.value("[...document.querySelectorAll('summary')].find((e) => e.textContent.startsWith('Numbers of the curve')).focus()")
b.press("Enter")
if not b.value("document.activeElement.parentElement.open"):
    fault("Enter does not open a table")
b.press("Tab")
if b.value("document.activeElement.getAttribute('role')") != "region":
    fault("Tab does not come into the table, but to", place(b)[0])
b.value("document.getElementById('phase').focus()")
b.press("ArrowDown")
b.until("inference by an arrow key", "location.hash.includes('phase=inference')")
b.answered("inference")
b.value("document.getElementById('phase').focus()")
b.press("ArrowUp")
b.until("training by an arrow key", "location.hash.includes('network=resnet18') && !location.hash.includes('phase=')")
b.answered("training again")

# A search that takes long: the page goes on, shows that it does, and the same button ends it.
b.value("location.hash = '#network=llama3_70b&batch=1&nodes=64&global=2048&tokens=1T&precision=dtype%3Dbf16'")
b.until("the link's network", "document.getElementById('said').textContent.includes('llama3_70b') || !document.getElementById('trouble').hidden")
b.answered("llama3_70b")
b.value("window.turns = 0; window.most = 0; (function turn(before) { requestAnimationFrame((now) => { window.turns++; "
        "window.most = Math.max(window.most, now - before); turn(now); }); })(performance.now())")
b.value("document.getElementById('search').focus()")
b.press("Enter")
if not b.value("document.getElementById('layouts').textContent.startsWith('Searching') && !document.getElementById('progress').hidden"):
    fault("no progress of a search:", b.value("document.getElementById('layouts').textContent"))
b.until("turns of the page beside the search", "window.turns > 10")
if b.value("document.getElementById('search').textContent") == "Stop the search":
    b.press("Enter")
    b.until("the end of a search that is stopped", "document.getElementById('layouts').textContent === 'The search was stopped.'")
    b.answered("the stopped search")
else:
    fault("the search was over before the page had turned")
print("longest turn", round(b.value("window.most")), "ms")
b.value("document.getElementById('network').focus()")
b.value("document.getElementById('network').select()")
b.type("gpt2")
b.until("an answer after a stopped search", "document.getElementById('said').textContent.includes('of gpt2 takes')")
b.answered("gpt2")

for width in (400, 1280):
    for scheme in ("light", "dark"):
        b.picture("planner-%d-%s" % (width, scheme), width, 900, scheme)
b.session = None
b.call("Browser.close")
b.process.wait(20)
print("end")
