"""Makes flows/confusables.json of Unicode's table of letters that look alike (UTS 39), whose licence is in NOTICE:
`python -m tools.confusables FILE > flows/confusables.json`, where FILE is
https://www.unicode.org/Public/security/latest/confusables.txt."""

import json
import sys
from pathlib import Path


def make(lines: list[str]) -> str:
    """A JSON object: what letters look like, and all those letters in one text."""
    looks: dict[str, list[str]] = {}
    for line in lines:
        fields = line.partition("#")[0].split(";")
        if len(fields) >= 2:
            look = "".join(chr(int(code, 16)) for code in fields[1].split())
            looks.setdefault(look, []).append(chr(int(fields[0].strip(), 16)))
    return json.dumps({look: "".join(letters) for look, letters in looks.items()}, indent=0)


if __name__ == "__main__":
    sys.stdout.write(make(Path(sys.argv[1]).read_text(encoding="utf-8-sig").splitlines()) + "\n")
