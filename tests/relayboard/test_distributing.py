"""`relayboard migrate --distribute`, called by its name."""

import json
from pathlib import Path

from sqlalchemy import create_engine, text

from testbed.servers import postgres_database
from tests.console_script import call_forked, make_environment
from tests.spreading_extension import STAND_IN


def test_an_empty_database_gets_its_schema_and_is_spread(postgres_url: str, tmp_path: Path) -> None:
    with postgres_database(postgres_url) as url:
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text(STAND_IN))
        engine.dispose()

        said = call_forked("migrate", "--distribute", folder=tmp_path, environment=make_environment(DATABASE_URL=url))

    assert (said.returncode, said.stderr) == (0, "")
    answer = json.loads(said.stdout)
    assert "message" in answer["spread"]
    assert "channel" in answer["copied"]


def test_a_database_that_cannot_be_spread_is_named_in_one_sentence(database_url: str, tmp_path: Path) -> None:
    settings = make_environment(DATABASE_URL=database_url)
    said = call_forked("migrate", "--distribute", folder=tmp_path, environment=settings)

    assert (said.returncode, said.stdout) == (1, "")
    is_file = database_url.startswith("sqlite")
    reason = "only a database in PostgreSQL" if is_file else "CREATE EXTENSION citus"
    assert said.stderr.count("\n") == 1
    assert reason in said.stderr
