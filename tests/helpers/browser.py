# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chromium without a display, driven through its debugging pipe: no driver and no package besides the browser."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found():
    """The path of a browser, None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """with Browser() as b: b.open(path); b.value("document.title")"""

    def __init__(self, width=1280, height=900, limit=120):
        self.limit, self._number, self._buffer = limit, 0, b""
        self.size = (width, height)
        self.heard = []

    def __enter__(self):
        self._profile = tempfile.mkdtemp(prefix="browser-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # The browser reads commands on descriptor 3 and answers on 4; the shell puts ours there.
        line = 'exec "$0" "$@" 3<&%d 4>&%d' % (theirs_in, theirs_out)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--hide-scrollbars"]
        options += ["--no-first-run", "--user-data-dir=" + self._profile, "about:blank"]
        argv = ["/bin/bash", "-c", line, found(), *options]
        self._process = subprocess.Popen(argv, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            self._session = None
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for name in ("Page", "Runtime", "Log"):
                self.call(name + ".enable")
            self.resize(*self.size)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _next(self, until):
        while b"\0" not in self._buffer:
            ready, _w, _x = select.select([self._in], [], [], max(until - time.monotonic(), 0))
            data = os.read(self._in, 1 << 16) if ready else b""
            if not data:
                raise AssertionError("the browser gave no answer in %d s" % self.limit)
            self._buffer += data
        text, _zero, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.limit
        while True:
            told = self._next(until)
            if told.get("id") == self._number:
                assert "error" not in told, told["error"]
                return told["result"]
            self.heard.append(told)

    def wait(self, method):
        until = time.monotonic() + self.limit
        while True:
            for place, told in enumerate(self.heard):
                if told.get("method") == method:
                    return self.heard.pop(place)
            self.heard.append(self._next(until))

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, kind="screen", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path, fragment=""):
        self.heard = [told for told in self.heard if told.get("method") != "Page.loadEventFired"]
        self.call("Page.navigate", url="file://%s%s" % (path, fragment))
        self.wait("Page.loadEventFired")

    def value(self, expression):
        """What a script expression gives; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def without_script(self, off=True):
        self.call("Emulation.setScriptExecutionDisabled", value=off)

    def picture(self, path, whole=False):
        options = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options.update(captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def key(self, name, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def complaints(self):
        """Errors and security refusals that the page caused."""
        self.value("0")
        return [told["params"] for told in self.heard if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
