"""Builds `docs/` into a site that needs no network: `python -m tools.docs_site [FOLDER]`, by default into `site/`.

Links that lead nowhere end the build. The generator takes one script from the network, for the search in pages that are
opened as files; the copy beside this module takes its place.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHIM = ROOT / "tools" / "iframe_worker" / "shim.js"
SHIM_URL = "https://unpkg.com/iframe-worker/shim"
PLACE = "assets/javascripts/iframe-worker-shim.js"
FETCHED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=["']?(https?://[^"' >]+)""")


class BuildFailed(Exception):
    """The pages are no site; the text says why."""


def build_site(source: Path, target: Path) -> None:
    """Raises BuildFailed. `source` has `mkdocs.yml` and `docs/`."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildFailed(done.stdout + done.stderr)
    built = source / "site"
    shutil.copy(SHIM, built / PLACE)
    for page in built.rglob("*.html"):
        up = "../" * (len(page.relative_to(built).parts) - 1)
        text = page.read_text(encoding="utf-8").replace(SHIM_URL, up + PLACE)
        fetched = sorted(set(FETCHED.findall(text)))
        if fetched:
            raise BuildFailed(f"{page.name} takes {', '.join(fetched)} from the network")
        page.write_text(text, encoding="utf-8")
    if target != built:
        shutil.copytree(built, target, dirs_exist_ok=True)


def main(arguments: Sequence[str]) -> int:
    target = Path(arguments[0]) if arguments else ROOT / "site"
    try:
        build_site(ROOT, target)
    except BuildFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"Open {target / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
