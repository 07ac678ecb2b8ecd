"""The expression language of flows: `Hi @contact.first_name, you are @(fields.age + 1)` (flow format, expressions)."""

from flows.expressions.conversions import is_truthy
from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import NO_RESOURCES, Evaluation, Resources
from flows.expressions.functions import FUNCTIONS, find_function
from flows.expressions.json_reading import read_json
from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.paths import context_paths
from flows.expressions.patterns import is_valid_pattern
from flows.expressions.rendering import render, render_json
from flows.expressions.rewriting import Rewriting, rewrite_template, rewrite_whole_expressions
from flows.expressions.scanner import CONTEXT_ROOTS, has_expressions, scan_template
from flows.expressions.templates import TemplateError, TextResult, ValueResult, evaluate_text, evaluate_value
from flows.expressions.values import Deprecated, Value, XArray, XError, XFunction, XObject, to_value

__all__ = [
    "CONTEXT_ROOTS",
    "FUNCTIONS",
    "NO_RESOURCES",
    "Deprecated",
    "Evaluation",
    "ExpressionError",
    "ExpressionSyntaxError",
    "Resources",
    "Rewriting",
    "TemplateError",
    "TextResult",
    "Value",
    "ValueResult",
    "XArray",
    "XError",
    "XFunction",
    "XObject",
    "context_paths",
    "evaluate_text",
    "evaluate_value",
    "find_function",
    "has_expressions",
    "is_truthy",
    "is_valid_pattern",
    "parse_expression",
    "read_json",
    "render",
    "render_json",
    "rewrite_template",
    "rewrite_whole_expressions",
    "scan_template",
    "to_value",
]
