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
COMPILE_ONCE = Path(__file__).with_name("compile_once.cjs")
LINTED = ("v1", "v2")


def main() -> None:
    programs = installed(PACKAGES) / ".bin"
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for generation in LINTED:
            (here / f"{generation}.json").write_text(json.dumps(bundle(generation), indent=1))
        (here / "spectral.yaml").write_text('extends: ["spectral:oas"]\n')
        documents = [f"{generation}.json" for generation in LINTED]
        redocly = ["lint", *documents, "--extends", "recommended", "--max-problems", "20"]
        spectral = ["lint", *documents, "--ruleset", "spectral.yaml", "--fail-severity", "warn", "--quiet"]
        options = {"redocly": [], "spectral": ["--require", str(COMPILE_ONCE)]}
        for name, words in {"redocly": redocly, "spectral": spectral}.items():
            program = str((programs / name).resolve())
            done = subprocess.run([NODE, *options[name], program, *words], cwd=here, capture_output=True, text=True)
            told = done.stdout + done.stderr
            if done.returncode or "warning" in told:
                sys.exit(f"{name}:\n{told}")


if __name__ == "__main__":
    main()
