"""`relayboard doctor`: the whole examination, in the order in which things need each other."""

import sys
from collections.abc import Mapping

from relayboard.base.settings import read_environment
from relayboard.doctor.database import DatabaseDoctor
from relayboard.doctor.findings import OK, Finding, report
from relayboard.doctor.neighbors import check_base_url, check_mail, check_push, check_queue_driver
from relayboard.doctor.places import check_files, check_media, check_room
from relayboard.doctor.settings import read_settings
from relayboard.usage.parts import Options


def run_doctor(options: Options) -> int:
    return report(examine(read_environment()), as_json=options.json or not sys.stdout.isatty())


def examine(environ: Mapping[str, str]) -> list[Finding]:
    """What is to be said of the installation of these settings. Nothing is changed."""
    read = read_settings(environ)
    settings = read.settings
    doctor = DatabaseDoctor(settings, has_key=read.has_key)
    found = [*read.findings, *doctor.check()]
    alive = [each.host for each in doctor.workers if each.is_alive]
    found += [*check_queue_driver(settings, doctor.workers), *check_media(settings, alive), *check_room(settings)]
    knows_key = read.has_key and all(each.check != "key" or each.status == OK for each in found)
    found += [
        *check_base_url(settings, knows_key=knows_key),
        *check_mail(settings),
        *check_push(settings, doctor.phones),
        *check_files(settings),
    ]
    return found
