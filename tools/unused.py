"""Finds unused code: `python -m tools.unused` prints it and ends with exit status 1. Uses in tests do not count. Names
that other programs use are listed here with the reason.
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from click import Group
from vulture import Vulture

from openapi.bundle import GENERATIONS, bundle, operations
from relayboard.usage.parts import Action
from relayboard.usage.program import build_program

ROOMS = ("flows", "channels", "handlers", "persistence", "worker", "relayboard", "openapi", "bench", "tools")
DECORATORS = ("@function", "@action_type", "@compiles", "@event.listens_for")
"""Decorated functions are found by name or type."""
DECLARATIONS = ("flows/events/*", "persistence/tables/*", "persistence/migrations/versions/*")
"""Keys of events, columns and revisions are declarations."""
CALLED_BY_OTHERS = {
    "Python": ("__*__", "get_code", "dont_write_bytecode"),
    "logging": ("logThreads", "logProcesses", "logMultiprocessing"),
    "SQLAlchemy": (
        *("impl", "cache_ok", "comparator_factory", "inherit_cache", "load_dialect_impl"),
        *("process_bind_param", "process_result_value", "statement_compiler", "get_from_hint_text"),
        *("self_group", "against"),
    ),
    "PyYAML": ("yaml_implicit_resolvers", "construct_mapping", "ignore_aliases"),
    "Alembic": ("heads", "run_args"),
    "psycopg2": ("cursor_factory",),
    "expat": (
        *("buffer_text", "StartElementHandler", "EndElementHandler", "CharacterDataHandler"),
        "StartDoctypeDeclHandler",
    ),
    "tarfile and zipfile": ("compression", "uid", "gid", "uname", "gname"),
    "revisions to come": ("add_index", "remove_index", "add_checked_constraint", "change_in_batches"),
    "Connexion": (
        *("api_cls", "_get_verify_func", "make_operation", "resolve_operation_id"),
        *("token_info", "cookie_info", "visitor_info", "wrap_receive"),
    ),
    "Starlette": ("redirect_slashes",),
    "uvicorn": ("timeout_keep_alive_handler",),
    "http.server": ("do_GET", "do_POST", "log_message", "daemon_threads"),
    "smtplib": ("source_address",),
    "smpplib": ("parse_optional_params",),
    "the SMS centre that tests play": ("write_deliver", "read_submit"),
    "socketserver": ("block_on_close", "request_queue_size", "handle"),
    "requests": ("trust_env", "max_redirects", "pool_classes_by_scheme", "ConnectionCls"),
    "httptools": ("on_message_begin", "on_status", "on_header", "on_body"),
    "Huey": (
        *("periodic_task_seconds", "enqueue_periodic_tasks", "scheduler_class", "_signal_actions", "initialize_schema"),
        *("_serialize", "_deserialize", "redis_client"),
    ),
    "click": ("format_epilog", "list_commands", "context_settings", "default_map", "resolve_envvar_value"),
    "flows, as the plural of a kind of asset": ("ticketers",),
    "RE2": ("log_errors", "max_mem"),
    "people, of columns of a file": ("short_year_examples",),
    "pytest": (
        "pytest_runtest_*",
        "pytest_collect*",
        "pytest_runtestloop",
        "pytest_fixture_setup",
        "pytest_deselected",
    ),
    "the simulated phone, by the name of a command": ("_on_*",),
    "users of the simulated phone": ("restart", "copies"),
    "users of the flow engine as a library": (
        *("Resume", "manual", "chat", "flow_action", "expiration"),
        *("change_base_language", "list_localizables", "error_text"),
    ),
}


def find_unused() -> list[str]:
    """A line for each function, class or variable without a use."""
    names = [name for group in CALLED_BY_OTHERS.values() for name in group]
    # Each definition is compared with every name that is ignored; a name that is used is looked up.
    patterns = [name for name in names if "*" in name]
    scan = Vulture(ignore_names=patterns, ignore_decorators=list(DECORATORS))
    scan.scavenge(ROOMS)
    scan.scan("\n".join(f"_.{name}" for name in names if name not in patterns), filename="used by others")
    scan.scan("\n".join(_list_operations()), filename="openapi")
    scan.scan("\n".join(_list_works()), filename="relayboard/usage")
    found = scan.get_unused_code(min_confidence=60)
    return [item.get_report() for item in found if not _is_declaration(item.filename)]


def _list_operations() -> list[str]:
    """The handlers as the contract names them."""
    return [
        operation["operationId"]
        for generation in GENERATIONS
        for _, _, operation in operations(bundle(generation))
        if "operationId" in operation
    ]


def _list_works() -> list[str]:
    """The functions of commands as their declarations name them."""
    nouns = build_program().commands.values()
    commands = [each for noun in nouns for each in (noun.commands.values() if isinstance(noun, Group) else [noun])]
    kinds = Path("relayboard/commands/kinds.py").read_text(encoding="utf-8")
    return [each.work for each in commands if isinstance(each, Action)] + re.findall(r'"(persistence\.[\w.]+)"', kinds)


def _is_declaration(filename: Path | str) -> bool:
    return any(fnmatch(Path(filename).resolve().relative_to(Path.cwd()).as_posix(), each) for each in DECLARATIONS)


def main() -> int:
    found = find_unused()
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
