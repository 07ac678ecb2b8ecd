"""The files of deploy/ are what their readers take, and name commands, options, settings and pages that there are."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import crossplane
import kubernetes_validate
import pytest

from handlers.asgi.gateway import PREFIXES
from openapi.bundle import GENERATIONS, bundle
from relayboard.api_server import GRACE_SECONDS
from relayboard.base.probe import PROBE_PATH
from relayboard.base.settings import NO_SETTINGS, OF_COMMANDS, Settings, load_settings
from relayboard.processes import STOP_TIMEOUT_SECONDS
from relayboard.usage.program import build_program
from testbed.servers import ADVISED
from tests.deploy.files import (
    DEPLOY,
    ROOT,
    STATE,
    UNITS,
    commands,
    containers,
    manifests,
    of_kind,
    read_compose,
    read_env,
    read_image,
    read_unit,
)
from worker.process import STOP_TIMEOUT_SECONDS as WORKER_STOP_SECONDS

COMMANDS = commands()
GRACE = max(STOP_TIMEOUT_SECONDS, WORKER_STOP_SECONDS, GRACE_SECONDS)
FILLED = {
    "RELAYBOARD_HOST": "sms.example.org",
    "POSTGRES_PASSWORD": "abc123",
    "RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use",
    "RELAYBOARD_VERSION": "0.2.0",
}
"""What people write into .env."""
PAGES = ("/health/live", "/health/ready", "/metrics")


@pytest.mark.parametrize("place", COMMANDS)
def test_every_command_is_one_of_ours_with_options_that_it_has(place: str) -> None:
    program, (name, *given) = build_program(), COMMANDS[place]

    program.commands[name].make_context(name, given)


def fill(text: str) -> str:
    """A text of compose.yaml with the variables of .env in it."""
    return re.sub(r"\$\{(\w+)(?::[?-][^}]*)?\}", lambda found: FILLED[found[1]], text)


def environments() -> dict[str, dict[str, str]]:
    """What each file sets for us."""
    found = {"image": {name: text for name, text in read_image().environment.items() if name.startswith("RELAYBOARD_")}}
    for name, service in read_compose()["services"].items():
        if service["image"].startswith("relayboard"):
            found[f"compose.yaml {name}"] = {key: fill(text) for key, text in service["environment"].items()}
    found["kubernetes"] = of_kind("ConfigMap")["relayboard"]["data"] | of_kind("Secret")["relayboard"]["stringData"]
    found["systemd"] = read_env((DEPLOY / "systemd" / "relayboard.env.example").read_text())
    return found


@pytest.mark.parametrize("place", environments())
def test_what_files_set_are_settings_with_values_that_can_be_used(place: str) -> None:
    given = environments()[place] | {"RELAYBOARD_SECRET_KEY": FILLED["RELAYBOARD_SECRET_KEY"]}

    settings = load_settings(given)

    assert settings.media_url == f"file://{STATE}/media" or place.startswith("compose")
    assert {name.removeprefix("RELAYBOARD_").lower() for name in given} <= {
        field.name for field in dataclasses.fields(Settings)
    }


def test_compose_is_what_its_specification_says() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run([*command, str(DEPLOY / "compose.yaml")], capture_output=True, text=True)

    assert checked.returncode == 0, checked.stdout


def test_compose_asks_for_what_its_example_names_and_nothing_else() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    asked = set(re.findall(r"\$\{(\w+)", text)) - {"RELAYBOARD_VERSION"}

    assert asked == set(read_env((DEPLOY / "compose.env.example").read_text()))


def test_compose_starts_postgresql_with_what_scaling_advises() -> None:
    _program, *given = read_compose()["services"]["postgres"]["command"]
    started = dict(each.split("=") for each in given if each != "-c")
    table = re.findall(r"^\| `(\w+)` \| .*?`(\w+)`", (ROOT / "docs" / "scaling.md").read_text(), re.MULTILINE)
    advised = {name: value for name, value in table if name.islower()}

    assert advised == ADVISED
    assert started == ADVISED | {"shared_buffers": "512MB"}


def test_only_the_proxy_of_compose_can_be_reached_and_it_alone_is_trusted() -> None:
    document = read_compose()
    services = document["services"]
    (web,) = document["networks"]["web"]["ipam"]["config"]

    assert [name for name, service in services.items() if "ports" in service] == ["caddy"]
    assert services["api"]["environment"]["RELAYBOARD_TRUSTED_PROXIES"] == web["subnet"]
    assert "web" not in services["worker"]["networks"] and "web" not in services["postgres"]["networks"]
    assert document["networks"]["inside"]["internal"] is True


def test_the_proxies_hide_what_is_inside_and_pass_large_files() -> None:
    caddy = (DEPLOY / "caddy" / "Caddyfile").read_text()
    nginx = (DEPLOY / "nginx" / "relayboard.conf").read_text()

    assert "@inside path /metrics /health/*\n\trespond @inside 404" in caddy
    assert "reverse_proxy api:8080" in caddy and "max_size 26MB" in caddy
    assert PROBE_PATH.startswith("/api/")  # which all of them pass on, so that the doctor reaches its service
    assert "location = /metrics {\n        return 404;" in nginx and "location /health/ {\n        return 404;" in nginx
    assert "client_max_body_size 26m" in nginx
    keep_alive = load_settings({"RELAYBOARD_SECRET_KEY": FILLED["RELAYBOARD_SECRET_KEY"]}).keep_alive_seconds
    idle = [int(found) for found in re.findall(r"keepalive(?:_timeout)? (\d+)s", caddy + nginx)]
    assert len(idle) == 2 and max(idle) < keep_alive


def test_nginx_takes_its_example(tmp_path: Path) -> None:
    """Directives, their places and their arguments, as its own grammar has them."""
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f"events {{}}\nhttp {{\n{(DEPLOY / 'nginx' / 'relayboard.conf').read_text()}\n}}\n", encoding="utf-8"
    )

    parsed = crossplane.parse(str(whole), strict=True)

    assert (parsed["status"], parsed["errors"]) == ("ok", [])


@pytest.mark.parametrize("manifest", manifests(), ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_a_manifest_is_what_kubernetes_takes(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_manifests_name_what_others_declare() -> None:
    services, claims = of_kind("Service"), of_kind("PersistentVolumeClaim")
    pods = [deployment["spec"]["template"] for deployment in of_kind("Deployment").values()]
    ports = {port["name"] for pod in pods for each in pod["spec"]["containers"] for port in each["ports"]}
    (ingress,) = of_kind("Ingress").values()
    backends = [path["backend"]["service"] for path in ingress["spec"]["rules"][0]["http"]["paths"]]
    (policy,) = of_kind("NetworkPolicy").values()
    opened = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}

    assert {each["name"] for each in backends} == set(services)
    assert {service["spec"]["ports"][0]["targetPort"] for service in services.values()} <= ports
    assert opened == ports
    for deployment, pod in zip(of_kind("Deployment").values(), pods, strict=True):
        labels = pod["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert {volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"]["volumes"][:1]} == set(claims)
    for spec, container in containers():
        volumes = {volume["name"] for volume in spec["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        sources = [(next(iter(each)), next(iter(each.values()))["name"]) for each in container["envFrom"]]
        assert sources == [("configMapRef", "relayboard"), ("secretRef", "relayboard")]


def test_the_ingress_lets_in_every_address_that_clients_phones_and_gateways_call() -> None:
    (ingress,) = of_kind("Ingress").values()
    paths = ingress["spec"]["rules"][0]["http"]["paths"]
    let_in = [path["path"] for path in paths if path["pathType"] == "Prefix"]
    servers = [bundle(generation)["servers"][0]["url"] for generation in GENERATIONS]
    called = [
        *servers,
        "/media",
        "/console/",
        "/guides/",
        *PREFIXES,
    ]

    assert [path for path in called if not path.startswith(tuple(f"{each}" for each in let_in))] == []
    assert [path for path in PAGES if path.startswith(tuple(let_in))] == []
    assert [path["path"] for path in paths if path["pathType"] == "Exact"] == ["/"]


def test_probes_ask_for_pages_that_there_are_and_ports_that_are_open() -> None:
    for _spec, container in containers():
        ports = {port["name"]: str(port["containerPort"]) for port in container.get("ports", ())}
        probes = [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe") if name in container]
        assert {probe["path"] for probe in probes} <= set(PAGES)
        assert {ports[probe["port"]] for probe in probes} <= set(container["args"])


def test_whatever_stops_us_waits_until_we_have_stopped() -> None:
    services = read_compose()["services"]
    own = [service for service in services.values() if service["image"].startswith("relayboard")]
    graces = [float(service["stop_grace_period"].removesuffix("s")) for service in own]
    graces += [float(read_unit(unit)["TimeoutStopSec"]) for unit in UNITS]
    graces += [spec["terminationGracePeriodSeconds"] - 5 for spec, _container in containers()]

    assert min(graces) > GRACE
    assert read_image().stop_signal == "SIGTERM"
    assert {read_unit(unit)["KillSignal"] for unit in UNITS} == {"SIGTERM"}
    assert {read_unit(unit)["KillMode"] for unit in UNITS} == {"mixed"}


def test_nothing_runs_as_root_or_may_become_it() -> None:
    user = int(read_image().user.split(":")[0])
    own = [service for service in read_compose()["services"].values() if service["image"].startswith("relayboard")]

    assert user > 0
    assert all(service["cap_drop"] == ["ALL"] and service["read_only"] for service in own)
    assert {spec["securityContext"]["runAsUser"] for spec, _container in containers()} == {user}
    assert all(spec["securityContext"]["runAsNonRoot"] for spec, _container in containers())
    assert not any(each["securityContext"]["allowPrivilegeEscalation"] for _spec, each in containers())
    assert {read_unit(unit)["User"] for unit in UNITS} == {"relayboard"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_its_units(unit: Path, tmp_path: Path) -> None:
    """By its own judgement where it is there; the program stands in for the one that will be installed."""
    text = unit.read_text()
    keys = read_unit(unit)
    assert {"Type", "ExecStart", "User", "StateDirectory", "Restart", "WantedBy", "ProtectSystem"} <= set(keys)
    assert keys["WorkingDirectory"] == f"/var/lib/{keys['StateDirectory']}" == STATE
    analyze = shutil.which("systemd-analyze")
    if analyze:
        here = tmp_path / unit.name
        program = Path(sys.executable).parent / "relayboard"
        here.write_text(text.replace("/opt/relayboard/bin/relayboard", str(program)).replace("User=relayboard\n", ""))
        checked = subprocess.run([analyze, "verify", "--man=no", str(here)], capture_output=True, text=True)
        ours = [line for line in checked.stderr.splitlines() if unit.name in line or "Unknown" in line]
        assert (checked.returncode, ours) == (0, [])


def test_the_image_takes_what_a_wheel_needs_and_no_more() -> None:
    """The files that the build sees, named one by one so that keys and databases never get into an image."""
    first, *named = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith(("!", "*"))]
    taken = {line.removeprefix("!") for line in named if line.startswith("!")}
    pyproject = (ROOT / "pyproject.toml").read_text()
    packages = re.findall(r'"(\w+)\*?"', pyproject[pyproject.index("packages.find") : pyproject.index("package-data")])

    assert first == "*"
    assert {
        *packages,
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "MANIFEST.in",
        "deploy",
        "docs/*.md",
        "docs/clinic.json",
    } <= taken
    assert not {name for name in taken if name in ("tests", "var", ".env", ".git")}


def test_every_setting_that_files_speak_of_is_one() -> None:
    known = {f"RELAYBOARD_{field.name.upper()}" for field in dataclasses.fields(Settings)}
    known |= {f"RELAYBOARD_{name}" for name in (*NO_SETTINGS, *OF_COMMANDS)} | {"RELAYBOARD_HOST", "RELAYBOARD_VERSION"}
    spoken = {
        name
        for file in DEPLOY.rglob("*")
        if file.is_file()
        for name in re.findall(r"RELAYBOARD_[A-Z_]+", file.read_text(encoding="utf-8"))
    }

    assert spoken <= known
