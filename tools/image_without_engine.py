"""Performs deploy/Dockerfile without a container engine: each instruction in a copy of this machine's root that is
thrown away, then the image's command as its user, with its health check and its stop signal. This machine and the
interpreter that runs this stand for the base image. Needs Linux, root, and util-linux: `python -m
tools.image_without_engine`.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
KEPT_DIRECTORIES = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
OF_THE_BASE = {"PATH": ":".join(KEPT_DIRECTORIES), "LD_LIBRARY_PATH": "/usr/local/lib"}
LIVE = """
ip link set lo up
"$@" &
program=$!
for _ in $(seq 120); do
    if {health} 2>/dev/null; then healthy=yes; break; fi
    sleep 0.5
done
kill -s {signal} $program
wait $program
status=$?
echo "healthy: ${{healthy:-no}}, ended with status $status after SIG{signal}"
[ "$healthy" = yes ] && [ $status = 0 ]
"""


@dataclass(slots=True)
class Stage:
    """One FROM, with what its instructions have set so far. `top` holds what they have written."""

    base: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(OF_THE_BASE))
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    signal: str = "TERM"

    @property
    def root(self) -> Path:
        return self.base / "root"

    def mount(self) -> None:
        for name in ("root", "top", "work"):
            (self.base / name).mkdir(parents=True)
        layers = f"lowerdir=/,upperdir={self.base / 'top'},workdir={self.base / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        for place in ("proc", "dev"):
            subprocess.run(["mount", "--bind", f"/{place}", self.root / place], check=True)
        # Where the base image has its interpreter, and where any user may read it.
        subprocess.run(["mount", "--bind", "--options", "ro", sys.base_prefix, self.root / "usr" / "local"], check=True)

    def run(self, words: Sequence[str], *, alone: bool = False) -> None:
        """A command in the root of the stage; `alone` has a network of its own."""
        user, group = self.user.split(":")
        change = ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items())]
        who = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups"] if user != "0" and not alone else []
        apart = ["unshare", "--net"] if alone else []
        inside = ["chroot", str(self.root), *change, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.folder]
        subprocess.run([*apart, *inside, *who, *words], check=True)


def read_instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word, rest.strip()


def list_taken() -> list[Path]:
    """The files that COPY . . sees, by .dockerignore: the last line that matches a file decides."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in tracked.split("\0") if name and _is_taken(name, rules)]


def _is_taken(name: str, rules: Sequence[str]) -> bool:
    is_taken = True
    parents = [name, *map(str, Path(name).parents)]
    for rule in rules:
        pattern = rule.removeprefix("!").removeprefix("**/")
        if any(fnmatch.fnmatch(each, pattern) for each in parents):
            is_taken = rule.startswith("!")
    return is_taken


def copy_source(target: Path) -> None:
    for path in list_taken():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target / path)


def perform(stages: dict[str, Stage], stage: Stage, word: str, rest: str) -> None:
    if word == "WORKDIR":
        stage.folder = rest
        (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif word == "ENV":
        for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|(\S+))', rest):
            stage.environment[name] = (quoted or plain).replace("$PATH", stage.environment["PATH"])
    elif word == "COPY" and rest == ". .":
        copy_source(stage.root / stage.folder.lstrip("/"))
    elif word == "COPY":
        found = re.fullmatch(r"--from=(\w+) /(\S+) /(\S+)", rest)
        assert found, rest
        shutil.copytree(stages[found[1]].root / found[2], stage.root / found[3], symlinks=True)
    elif word == "RUN":
        stage.run(["sh", "-c", rest])
    elif word in ("ENTRYPOINT", "CMD"):
        setattr(stage, {"ENTRYPOINT": "entrypoint", "CMD": "command"}[word], json.loads(rest))
    elif word == "HEALTHCHECK":
        stage.health = json.loads(rest.partition("CMD ")[2])
    elif word == "STOPSIGNAL":
        stage.signal = rest.removeprefix("SIG")
    elif word == "USER":
        stage.user = rest
    else:
        assert word in ("VOLUME", "EXPOSE"), f"nobody has taught this {word}"


def main() -> None:
    """Prints each instruction before it performs it; the status is that of the first that fails."""
    if os.environ.get("IN_MOUNTS_OF_ITS_OWN") != "yes":
        again = ["unshare", "--mount", sys.executable, "-m", "tools.image_without_engine"]
        sys.exit(subprocess.run(again, env={**os.environ, "IN_MOUNTS_OF_ITS_OWN": "yes"}).returncode)
    stages: dict[str, Stage] = {}
    # Overlays cannot lie in the root that they cover.
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as folder:
        stage = Stage(Path(folder))
        for word, rest in read_instructions(DOCKERFILE.read_text()):
            sys.stdout.write(f"{word} {rest}\n")
            sys.stdout.flush()
            if word == "FROM":
                name = rest.partition(" AS ")[2] or "last"
                stage = stages[name] = Stage(Path(folder) / name)
                stage.mount()
            else:
                perform(stages, stage, word, rest)
        user, group = stage.user.split(":")
        who = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups"]
        live = LIVE.format(health=shlex.join(stage.health), signal=stage.signal)
        stage.run(["sh", "-c", live, "sh", *who, *stage.entrypoint, *stage.command], alone=True)
        for each in stages.values():
            subprocess.run(["umount", "--recursive", each.root], check=True)


if __name__ == "__main__":
    main()
