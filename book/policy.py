"""Writes into each page what it may load and run: its content security policy.

A book holds text of many hands: messages, outputs, quotations. Should some of it ever
reach a page as markup, it still cannot run, and nothing can be sent anywhere. The
policy stands in the page, so that it holds from any host and from disk.

The few lines of script that stand in a page are allowed by their hash. Code in
attributes is not allowed at all, nor are styles there.
"""

import base64
import hashlib
import pathlib
import re

_HEAD = re.compile(r"<head>", re.I)
_OLD = re.compile(r'\s*<meta http-equiv="Content-Security-Policy"[^>]*>')
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.I | re.S)
_STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>", re.I | re.S)
_SOURCE = re.compile(r"\bsrc\s*=", re.I)
# Data, such as JSON-LD, is not run and needs no leave.
_DATA = re.compile(r"""\btype\s*=\s*["']?(?!module\b|text/javascript)""", re.I)


def policy(page: str) -> str:
    """Return the policy for a page, with the hashes of what stands in it.

    >>> print(policy("<script>go()</script>").replace("; ", "\\n"))
    default-src 'none'
    script-src 'self' 'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='
    style-src 'self'
    img-src 'self' data:
    connect-src 'self'
    form-action 'self'
    base-uri 'none'
    object-src 'none'
    """
    scripts = [
        code
        for attributes, code in _SCRIPT.findall(page)
        if not _SOURCE.search(attributes) and not _DATA.search(attributes)
    ]
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'self'", *map(_hash, scripts)],
        "style-src": ["'self'", *map(_hash, _STYLE.findall(page))],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
    return "; ".join(
        " ".join([name, *dict.fromkeys(sources)])
        for name, sources in directives.items()
    )


def _hash(text: str) -> str:
    """Return a hash as a policy names it; browsers take line ends as ``\\n``."""
    digest = hashlib.sha256(text.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def guarded(page: str) -> str:
    """Return a page with its policy as the first thing in its head.

    A policy that it has already is replaced; a text without a head is left alone.
    """
    bare = _OLD.sub("", page)
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(bare)}">'
    return _HEAD.sub(lambda head: f"{head[0]}\n    {tag}", bare, count=1)


def write(app, exception) -> None:
    """Give every page below the built book its policy, whoever has written it."""
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(pathlib.Path(app.outdir).rglob("*.html")):
        page = path.read_text("utf-8")
        if (with_policy := guarded(page)) != page:
            path.write_text(with_policy, "utf-8")


def setup(app):
    """Connect to the end of the build, when nothing is written into pages any more."""
    app.connect("build-finished", write, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
