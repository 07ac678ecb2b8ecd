"""What stands in the files of deploy/."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from openapi.bundle import YAML_LOADER

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
STATE = "/var/lib/relayboard"


@dataclass(frozen=True, slots=True)
class Image:
    """What the Dockerfile says of the image: commands as lists of words."""

    entrypoint: list[str]
    command: list[str]
    health: list[str]
    stop_signal: str
    environment: dict[str, str]
    user: str


def read_image() -> Image:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    last_stage = text[text.rindex("\nFROM ") :]
    lines = [line.strip() for line in last_stage.splitlines()]

    def rest(word: str) -> str:
        (found,) = (line.removeprefix(word).strip() for line in lines if line.startswith(f"{word} "))
        return found

    environment = dict(re.findall(r'(\w+)="([^"]*)"', rest("ENV")))
    health = json.loads(rest("HEALTHCHECK").partition("CMD ")[2])
    return Image(
        json.loads(rest("ENTRYPOINT")), json.loads(rest("CMD")), health, rest("STOPSIGNAL"), environment, rest("USER")
    )


def read_compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load((DEPLOY / "compose.yaml").read_text(), Loader=YAML_LOADER)
    return document


def manifests() -> list[dict[str, Any]]:
    """All Kubernetes objects."""
    return [each for file in KUBERNETES for each in yaml.load_all(file.read_text(), Loader=YAML_LOADER)]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    """The Kubernetes objects of a kind, by name."""
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


def containers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each container of a Deployment, with the specification of its pod."""
    for deployment in of_kind("Deployment").values():
        pod = deployment["spec"]["template"]["spec"]
        for container in (*pod["initContainers"], *pod["containers"]):
            yield pod, container


def read_unit(file: Path) -> dict[str, str]:
    """The keys of a unit; of a key that stands twice the last."""
    lines = (line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def read_env(text: str) -> dict[str, str]:
    """A file of NAME=VALUE lines, those that are commented out too."""
    return dict(re.findall(r"^(?:# )?(RELAYBOARD_\w+|POSTGRES_\w+)=(.*)$", text, re.MULTILINE))


def commands() -> dict[str, list[str]]:
    """Every command of ours in every file, by where it stands, without the word `relayboard`."""
    found = {"Dockerfile": read_image().command}
    for name, service in read_compose()["services"].items():
        if service["image"].startswith("relayboard"):
            found[f"compose.yaml {name}"] = service["command"]
    for _pod, container in containers():
        found[f"kubernetes {container['name']}"] = container["args"]
    for unit in UNITS:
        program, *words = read_unit(unit)["ExecStart"].split()
        assert program.endswith("/relayboard")
        found[unit.name] = words
    return found
