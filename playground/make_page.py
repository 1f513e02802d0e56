#!/usr/bin/env python3
"""Puts the playground together: one HTML file that loads nothing else.

usage: make_page.py WASM_STEM OUTPUT FRAME.html FILES...

WASM_STEM.js and WASM_STEM.wasm are emscripten's; FILES are styles, worker.js
and scripts, which keep their order.
"""
import base64
import pathlib
import sys


def read(path):
    text = pathlib.Path(path).read_text()
    if "</script" in text.lower() or "<!--" in text:
        sys.exit(f"make_page.py: {path} would end its script element")
    return text


def main():
    stem, output, frame, *files = sys.argv[1:]
    parts = {
        "style": "".join(pathlib.Path(f).read_text() for f in files
                         if f.endswith(".css")),
        "worker": read(stem + ".js") + "".join(
            read(f) for f in files if f.endswith("/worker.js")),
        "script": "".join(read(f) for f in files if f.endswith(".js")
                          and not f.endswith("/worker.js")),
        "wasm": base64.b64encode(
            pathlib.Path(stem + ".wasm").read_bytes()).decode(),
    }
    page = pathlib.Path(frame).read_text()
    for name, text in parts.items():
        before, mark, after = page.partition(f"@{name}@")
        if not mark:
            sys.exit(f"make_page.py: {frame} has no @{name}@")
        page = before + text + after
    pathlib.Path(output).write_text(page)


if __name__ == "__main__":
    main()
