#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A picture of a page, by headless Chromium.

    .venv/bin/python tools/screenshot.py demo-out/report.html docs/images/report.png

PAGE is a file or a URL, PICTURE a PNG. Needs chromium, chromium-driver (Debian) and selenium (the `test` extra).
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
import tempfile
import time
from pathlib import Path


def take(
    page: str,
    picture: Path,
    *,
    width: int = 1280,
    height: int = 900,
    dark: bool = False,
    scale: float = 1,
    wait: float = 1,
) -> None:
    """Writes a PNG of what a window of `width` x `height` CSS pixels shows of a page.

    Args:
        page: a URL. picture: where the PNG goes. height: 0 for the page's whole height. dark: ask for dark colours.
        scale: pixels of the picture for a CSS pixel. wait: seconds between loading and the picture.

    Raises:
        FileNotFoundError: there is no browser here.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    driver = shutil.which("chromedriver")
    if driver is None:
        raise FileNotFoundError("no chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        for flag in (
            "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(driver))
        try:
            size = {"width": width, "height": height or 900, "deviceScaleFactor": scale, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            colours = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
            browser.get(page)
            time.sleep(wait)
            shown = height or int(browser.execute_script("return document.documentElement.scrollHeight"))
            clip = {"x": 0, "y": 0, "width": width, "height": shown, "scale": 1}
            wanted = {"format": "png", "clip": clip, "captureBeyondViewport": True}
            data = browser.execute_cdp_cmd("Page.captureScreenshot", wanted)["data"]
        finally:
            browser.quit()
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(base64.b64decode(data))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", help="a file or a URL")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--width", type=int, default=1280, help="CSS pixels (1280)")
    parser.add_argument("--height", type=int, default=900, help="CSS pixels (900); 0: the whole page")
    parser.add_argument("--dark", action="store_true", help="ask for dark colours")
    parser.add_argument("--scale", type=float, default=1, help="pixels of the picture for a CSS pixel (1)")
    parser.add_argument("--wait", type=float, default=1, help="seconds between loading and the picture (1)")
    asked = parser.parse_args()
    page = asked.page if "://" in asked.page else Path(asked.page).resolve(strict=True).as_uri()
    take(
        page,
        asked.picture,
        width=asked.width,
        height=asked.height,
        dark=asked.dark,
        scale=asked.scale,
        wait=asked.wait,
    )
    print(f"wrote {asked.picture}, {asked.picture.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
