"""Copies the libraries of the console into `console/vendor`, in the versions of `tools/console/packages`:
`python -m tools.console.vendor`.

Only the files that the console loads are kept, with the license of each package and a manifest of versions and
checksums. Browsers do not know package names, so imports of packages become imports of the files.
"""

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.console.packages import installed, lock

FOLDER = Path(__file__).parents[2] / "console" / "vendor"
MANIFEST = "manifest.json"
LIBRARIES: Mapping[str, Mapping[str, str]] = {
    "@dagrejs/dagre": {"dist/dagre.esm.js": "dagre.js"},
    "preact": {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js"},
    "@preact/signals-core": {"dist/signals-core.module.js": "signals-core.js"},
    "@preact/signals": {"dist/signals.module.js": "signals.js"},
    "htm": {"dist/htm.module.js": "htm.js"},
    "lean-qr": {"index.mjs": "lean_qr.js"},
    "uplot": {"dist/uPlot.esm.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"},
}
"""The files of each package that are kept, and their names in the folder."""
IMPORTED = {
    "preact": "./preact.js",
    "preact/hooks": "./hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
STRICT_LOCALE, ANY_LOCALE = b"new Intl.NumberFormat(domEnv ? nav.language : 'en-US')", b"new Intl.NumberFormat()"
"""A system may give the browser a language that is no tag, such as en-US@posix, and the module would not load. We
format numbers ourselves."""
SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")


def main() -> int:
    manifest = vendor(installed(), FOLDER)
    sys.stdout.write(f"{len(manifest)} packages in {FOLDER.name}\n")
    return 0


def vendor(packages: Path, folder: Path) -> dict[str, Any]:
    """Replace the libraries in the folder by those of an installation; returns the manifest."""
    folder.mkdir(exist_ok=True)
    manifest = {}
    for name, kept in LIBRARIES.items():
        source = packages / name
        license_name = f"{name.rpartition('/')[2]}.LICENSE"
        contents = {kept[path]: in_browsers((source / path).read_bytes()) for path in kept}
        contents[license_name] = (source / "LICENSE").read_bytes()
        locked = lock()["packages"][f"node_modules/{name}"]
        manifest[name] = {
            "version": locked["version"],
            "license": locked["license"],
            "integrity": locked["integrity"],
            "files": {file: hashlib.sha256(body).hexdigest() for file, body in contents.items()},
        }
        for file, body in contents.items():
            (folder / file).write_bytes(body)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def in_browsers(body: bytes) -> bytes:
    """A module as browsers load it: imports name files, no source map is missed, and any language will do."""
    for name, file in IMPORTED.items():
        body = re.sub(rb'(from\s*)"' + name.encode() + rb'"', rb'\1"' + file.encode() + rb'"', body)
    return SOURCE_MAP.sub(b"\n", body.replace(STRICT_LOCALE, ANY_LOCALE))


if __name__ == "__main__":
    sys.exit(main())
