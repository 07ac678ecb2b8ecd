from dataclasses import replace

import pytest

from flows.expressions.parser import parse_expression
from flows.expressions.paths import context_paths, rewrite_template, rewrite_whole_expressions
from flows.expressions.syntax import BracketLookup, ContextReference, DotLookup, TextLiteral, rewrite_expression


def move_reply(node):
    """`reply` becomes `reply.body`."""
    return DotLookup(node, "body") if isinstance(node, ContextReference) and node.name == "reply" else node


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Got @reply", "Got @reply.body"),
        ("@reply.name. Bye", "@reply.body.name. Bye"),
        ("@(  reply[0]  )", "@(reply.body[0])"),
        ("@@reply @( 1+1 ) @other", "@@reply @( 1+1 ) @other"),
        ("@(foreach(xs, (reply) => reply))", "@(foreach(xs, (reply) => reply))"),
        ("@(foreach(reply, (x) => reply & x))", "@(foreach(reply.body, (x) => reply.body & x))"),
    ],
)
def test_only_expressions_in_which_something_changes_are_written_anew(template, expected):
    assert rewrite_template(template, move_reply, ["reply", "other"]).template == expected


def test_an_identifier_that_no_longer_is_one_gets_parentheses():
    def to_brackets(node):
        return BracketLookup(node.container, TextLiteral(node.name)) if isinstance(node, DotLookup) else node

    assert rewrite_template("@results.2x and @results.old", to_brackets, ["results"]).template == (
        '@results.2x and @(results["old"])'
    )


def test_what_does_not_parse_stays_and_is_reported():
    rewriting = rewrite_template("@(reply +) @reply", move_reply)
    assert rewriting.template == "@(reply +) @reply.body"
    assert rewriting.errors == ("error evaluating @(reply +): syntax error at ",)


def test_a_whole_expression_can_be_replaced():
    rewriting = rewrite_whole_expressions("x @( a ) y", lambda expression: parse_expression("b+1"))
    assert rewriting.template == "x @(b + 1) y"


def test_an_unchanged_tree_is_the_same_object():
    tree = parse_expression("f(a.b, (x) => -x[1]) & (2)")
    assert rewrite_expression(tree, lambda node: node) is tree


def test_every_kind_of_node_is_rebuilt_over_changed_children():
    tree = parse_expression('f(a, -(a)) & a.b[a] = ((x) => a)("t", true, null, 1)')
    renamed = rewrite_expression(
        tree, lambda node: replace(node, name="z") if isinstance(node, ContextReference) and node.name == "a" else node
    )
    assert str(renamed) == 'f(z, -(z)) & z.b[z] = ((x) => z)("t", true, null, 1)'


def test_paths_come_with_all_their_beginnings_in_order():
    assert context_paths("@Order.Item and @(order)", ["order"]) == [("order",), ("order", "item"), ("order",)]
    assert context_paths('@(f(order["A"].b, (x) => x.y) + 1)') == [("order",), ("order", "a"), ("order", "a", "b")]
    assert context_paths("@((order).item)") == [("order",), ("order", "item")]


def test_paths_end_where_a_key_is_computed_and_broken_expressions_have_none():
    assert context_paths("@(order[key].x)") == [("order",), ("key",)]
    assert context_paths("@(order +) @order") == [("order",)]
