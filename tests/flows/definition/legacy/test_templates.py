"""Old templates: their expressions are migrated, and all other text stays."""

from __future__ import annotations

import pytest

from flows.definition.legacy.templates import TemplateOptions, migrate_template


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Hi @contact.first_name.", "Hi @contact.first_name."),
        ("@flow.color and @flow.color", "@results.color and @results.color"),
        ("@(flow.color)", "@results.color"),
        ("@contact.tel!", "@(format_urn(urns.tel))!"),
        ("a@b.com @twitter @@contact @", "a@b.com @twitter @@contact @"),
        ("@@@flow", "@@@results"),
        ('@(")") @flow', '@(")") @results'),
        ('@(UPPER("a "" ) b")) @flow', '@(upper("a \\" ) b")) @results'),
        ("@(UPPER(flow.x) @flow", "@(UPPER(flow.x) @flow"),
        ('Nothing: @("")', "Nothing: "),
        ("", ""),
    ],
)
def test_expressions_are_migrated_and_all_other_text_stays(old: str, new: str) -> None:
    assert migrate_template(old).template == new


def test_what_cannot_be_migrated_stays_and_is_told() -> None:
    rewriting = migrate_template("@flow.x @(1 +) @(DAY())")

    assert rewriting.template == "@results.x @(1 +) @(DAY())"
    assert [error.partition(": ")[0] for error in rewriting.errors] == [
        "error evaluating @(1 +)",
        "error evaluating @(DAY())",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@flow.x", '@(if(is_error(results.x), "@flow.x", results.x))'),
        ('@(UPPER("a"))', '@(if(is_error(upper("a")), "@(UPPER(\\"a\\"))", upper("a")))'),
        ("plain", "plain"),
    ],
)
def test_an_operand_in_error_gives_its_own_old_text(old: str, new: str) -> None:
    assert migrate_template(old, TemplateOptions(default_to_self=True)).template == new


def test_expressions_in_urls_are_encoded() -> None:
    rewriting = migrate_template("http://a.b/?q=@flow.x&r=@(1+1)", TemplateOptions(url_encode=True))

    assert rewriting.template == "http://a.b/?q=@(url_encode(results.x))&r=@(url_encode(1 + 1))"
