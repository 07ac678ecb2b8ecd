"""The contract by the recommended rules of Redocly and of Spectral: `python -m tools.contract_lint`. Any warning
fails."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from openapi.bundle import bundle
from tools.console.packages import NODE, installed

PACKAGES = Path(__file__).parent / "sdks" / "node"
LINTED = ("v1", "v2")
RULES = """
extends: ["spectral:oas"]
rules:
  # Redocly looks at the same examples, which are most of Spectral's work.
  oas3-valid-media-example: off
  oas3-valid-schema-example: off
"""


def main() -> None:
    programs = installed(PACKAGES) / ".bin"
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for generation in LINTED:
            (here / f"{generation}.json").write_text(json.dumps(bundle(generation), indent=1))
        (here / "spectral.yaml").write_text(RULES)
        documents = [f"{generation}.json" for generation in LINTED]
        redocly = ["lint", *documents, "--extends", "recommended", "--max-problems", "20"]
        spectral = ["lint", *documents, "--ruleset", "spectral.yaml", "--fail-severity", "warn", "--quiet"]
        for name, words in {"redocly": redocly, "spectral": spectral}.items():
            program = str((programs / name).resolve())
            done = subprocess.run([NODE, program, *words], cwd=here, capture_output=True, text=True)
            told = done.stdout + done.stderr
            if done.returncode or "warning" in told:
                sys.exit(f"{name}:\n{told}")


if __name__ == "__main__":
    main()
