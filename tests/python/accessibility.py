"""axe-core in a headless browser: what keeps people with a keyboard, a reader or weak sight from a page.

axe-core is no dependency: `npm install axe-core` in the root of the repository, or WEFT_AXE=FILE names its axe.min.js.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_RUN = """
const ended = (text) => {
  const pre = document.createElement("pre");
  Object.assign(pre, {id: "axe", textContent: text});
  document.body.append(pre);
};
const wait = () => (document.documentElement.dataset.drawn === "yes" || !document.querySelector(".plot")
  ? axe.run(document, {resultTypes: ["violations"]}).then(
      (result) => ended(JSON.stringify(result.violations.map((v) => [v.impact, v.id, v.nodes[0].html.slice(0, 200)]))))
  : setTimeout(wait, 100));
wait();
"""


def browser():
    """The browser there is; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(_BROWSERS)} is in PATH")
    return found


def axe():
    """The text of axe.min.js; skips the test where it is missing."""
    file = Path(os.environ.get("WEFT_AXE", _ROOT / "node_modules" / "axe-core" / "axe.min.js"))
    if not file.is_file():
        pytest.skip(f"no axe-core: there is no {file}; `npm install axe-core`, or WEFT_AXE=FILE")
    return file.read_text(encoding="utf-8")


def serious(page, folder, *, dark=False):
    """What axe finds serious or critical in a page: `[impact, rule, an element]` each."""
    script = axe()
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    # A page of several files finds its style where it lies.
    text = text.replace("<head>", f'<head><base href="{page.resolve().parent.as_uri()}/">', 1)
    looked = folder / "axe.html"
    looked.write_text(text.replace("</body>", f"<script>{script}</script><script>{_RUN}</script></body>"))
    words = [
        browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000",
        "--window-size=1400,1000", f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []), "--dump-dom", looked.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(words, capture_output=True, text=True, check=True, timeout=240).stdout
    found = re.search(r'<pre id="axe">(.*?)</pre>', dom, re.DOTALL)
    assert found, "axe did not end"
    violations = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return [violation for violation in violations if violation[0] in ("serious", "critical")]
