"""Headless Chromium, for the tests that read the report like people."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FETCH = Path(__file__).resolve().parents[3] / "scripts" / "fetch_chromium.py"
HEIGHT = 1000


def programs() -> tuple[str, str]:
    """Return the browser and its driver; without them, skip the test with the reason."""
    command = [sys.executable, FETCH]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise unittest.SkipTest(run.stderr.strip())
    browser, driver = run.stdout.split("\n")[:2]
    return browser, driver


class Browser:
    """A browser with a given window width and preferred colours."""

    def __init__(self, programs: tuple[str, str]) -> None:
        browser, driver = programs
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        options.add_argument("--headless=new")
        options.add_argument("--hide-scrollbars")
        options.add_argument("--force-color-profile=srgb")
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # without this it does not run as root
        options.add_argument("--disable-dev-shm-usage")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, Service(driver))

    def open(self, page: Path, width: int, scheme: str) -> None:
        self.logs()
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.resize(width)
        self.driver.get(page.as_uri())

    def resize(self, width: int) -> None:
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def command(self, name: str, **parameters: object) -> dict:
        return self.driver.execute_cdp_cmd(name, parameters)

    def ask(self, expression: str) -> object:
        """Return the value of an expression in the page."""
        return self.driver.execute_script(f"return {expression}")

    def run(self, script: str) -> None:
        self.driver.execute_script(script)

    def console(self) -> list[str]:
        """Return the page's error messages since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return all requested addresses since the last call."""
        events = [json.loads(entry["message"]) for entry in self.driver.get_log("performance")]
        return [
            event["message"]["params"]["request"]["url"]
            for event in events
            if event["message"]["method"] == "Network.requestWillBeSent"
        ]

    def logs(self) -> None:
        """Discard earlier logs."""
        self.console()
        self.requests()

    def quit(self) -> None:
        self.driver.quit()
