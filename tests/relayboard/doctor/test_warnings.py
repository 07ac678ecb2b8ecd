"""What works and could be better."""

import json

import pytest
from sqlalchemy import create_engine, text

from persistence.migrations.part_indexes import PART_INDEXES
from persistence.service.diagnosis import DEFAULTS
from tests.relayboard.doctor.patients import Patient, examine, own_postgres


@pytest.mark.parametrize("service", ["postgresql"], indirect=True)
def test_names_that_have_to_be_searched_without_an_index_are_a_warning(patient: Patient) -> None:
    engine = create_engine(own_postgres(patient))
    _, healthy = examine(patient, "--json")
    with engine.begin() as connection:
        connection.execute(text(f"DROP INDEX {PART_INDEXES[1].name}"))
    engine.dispose()

    _, told = examine(patient, "--json")

    assert not [each for each in json.loads(healthy)["findings"] if each["check"] == "names"]
    (found,) = (each for each in json.loads(told)["findings"] if each["check"] == "names")
    assert found["status"] == "warning"
    assert "postgresql-contrib" in found["sentence"] and "run `relayboard migrate`" in found["sentence"]


@pytest.mark.parametrize("service", ["postgresql"], indirect=True)
def test_a_large_database_on_a_server_with_its_defaults_is_a_warning(patient: Patient) -> None:
    engine = create_engine(own_postgres(patient))
    _, small = examine(patient, "--json")
    with engine.begin() as connection:
        connection.execute(text("CREATE UNLOGGED TABLE ballast (content text)"))
        connection.execute(text("ALTER TABLE ballast ALTER content SET STORAGE PLAIN"))
        connection.execute(text("INSERT INTO ballast SELECT repeat('x', 8000) FROM generate_series(1, 17000)"))
        setup = connection.execute(text("SELECT name FROM pg_settings WHERE boot_val = setting")).scalars().all()
    engine.dispose()
    expected = [name for name in DEFAULTS if name in setup]

    _, told = examine(patient, "--json")

    assert not [each for each in json.loads(small)["findings"] if each["check"] == "server"]
    found = [each for each in json.loads(told)["findings"] if each["check"] == "server"]
    assert [each["status"] for each in found] == ["warning"] * bool(expected)
    assert all(f"its defaults for {', '.join(expected)}, which" in each["sentence"] for each in found)
    assert all("docs/scaling.md" in each["sentence"] for each in found)
