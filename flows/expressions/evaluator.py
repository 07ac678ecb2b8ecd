"""Evaluates parsed expressions (flow format, evaluation rules).

A tree is first flattened into steps of a stack machine, so that deep trees need no deep calls; only anonymous functions
that call each other nest, and that is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from flows.expressions.conversions import to_integer, to_text
from flows.expressions.decimals import check_range
from flows.expressions.errors import OUT_OF_RANGE, ExpressionError, ExpressionTooComplexError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions import find_function
from flows.expressions.operators import apply_operator, negate
from flows.expressions.parser import CACHED_EXPRESSIONS, CACHED_LENGTH, parse_expression
from flows.expressions.syntax import (
    AnonymousFunction,
    Binary,
    BooleanLiteral,
    BracketLookup,
    Call,
    ContextReference,
    DotLookup,
    Expression,
    Group,
    Negation,
    NumberLiteral,
    TextLiteral,
)
from flows.expressions.values import Value, XArray, XError, XFunction, XObject, describe

ANONYMOUS_CALL_WORK = 4
FUNCTION_MAKING_WORK = 4


@dataclass(frozen=True, slots=True)
class Scope:
    """The parameters of an anonymous function being called, around them those of the functions it stands in."""

    parameters: Mapping[str, Value]
    outer: Scope | None
    context: XObject

    def find(self, name: str) -> tuple[Value] | None:
        """The value of the innermost parameter of that name, in a tuple."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.parameters:
                return (scope.parameters[name],)
            scope = scope.outer
        return None


Step = Callable[["_Machine"], None]


@dataclass(slots=True)
class _Machine:
    evaluation: Evaluation
    scope: Scope
    stack: list[Value]


class Program:
    """An expression ready to be run; flattened when first run."""

    __slots__ = ("_expression", "_steps")

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._steps: list[Step] | None = None

    def run(self, evaluation: Evaluation, scope: Scope) -> Value:
        """The value of the expression; raises ExpressionTooComplexError when the evaluation's budget is used up."""
        if self._steps is None:
            self._steps = _flatten(self._expression)
        machine = _Machine(evaluation, scope, [])
        spend = evaluation.budget.spend
        for step in self._steps:
            spend()
            step(machine)
        return machine.stack[-1]


def compile_expression(expression: str) -> Program:
    """The program of an expression; raises ExpressionSyntaxError. Programs of short expressions are kept and shared."""
    if len(expression) > CACHED_LENGTH:
        return Program(parse_expression(expression))
    return _compile_cached(expression)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compile_cached(expression: str) -> Program:
    return Program(parse_expression(expression))


def evaluate_expression(expression: str, context: XObject, evaluation: Evaluation) -> Value:
    """The value of one expression, an error value if it has none; raises ExpressionSyntaxError."""
    program = compile_expression(expression)
    try:
        return program.run(evaluation, Scope({}, None, context))
    except (ExpressionTooComplexError, RecursionError):
        # A host that calls from deep within its own stack leaves less room than the limits here count on.
        return XError(str(ExpressionTooComplexError()))


def _flatten(expression: Expression) -> list[Step]:
    steps: list[Step] = []
    pending: list[Expression | Step] = [expression]
    while pending:
        item = pending.pop()
        if not isinstance(item, Expression):
            steps.append(item)
        elif isinstance(item, Call):
            pending.append(_call_step(len(item.arguments), item.function))
            pending.extend(reversed(item.arguments))
            pending.append(_callee(item.function))
        elif isinstance(item, Group):
            pending.append(item.inner)
        else:
            pending.append(_make_step(item))
            if not isinstance(item, AnonymousFunction):
                pending.extend(reversed(item.children))
    return steps


def _callee(function: Expression) -> Expression | Step:
    if not isinstance(function, ContextReference):
        return function
    return _name_step(function.name, "{} is not a function")


def _make_step(node: Expression) -> Step:
    if isinstance(node, ContextReference):
        return _name_step(node.name, "context has no property '{}'")
    if isinstance(node, DotLookup):
        return _dot_step(node.name)
    if isinstance(node, BracketLookup):
        return _look_up_in_brackets
    if isinstance(node, Binary):
        return _binary_step(node.operator)
    if isinstance(node, Negation):
        return _negate
    if isinstance(node, AnonymousFunction):
        return _anonymous_function_step(node)
    return _constant_step(_literal_value(node))


def _literal_value(node: Expression) -> Value:
    if isinstance(node, (TextLiteral, BooleanLiteral)):
        return node.value
    if not isinstance(node, NumberLiteral):
        return None
    number = node.to_decimal()
    try:
        return XError(OUT_OF_RANGE) if number is None else check_range(number)
    except ExpressionError as error:
        return XError(str(error))


def _constant_step(value: Value) -> Step:
    def push(machine: _Machine) -> None:
        machine.evaluation.budget.charge(value)
        machine.stack.append(value)

    return push


def _name_step(name: str, complaint: str) -> Step:
    def push(machine: _Machine) -> None:
        machine.stack.append(_find_name(machine, name, complaint))

    return push


def _find_name(machine: _Machine, name: str, complaint: str) -> Value:
    parameter = machine.scope.find(name)
    if parameter is not None:
        return parameter[0]
    context = machine.scope.context
    known = context.find_name(name)
    if known is not None:
        return _read_property(machine, context, known)
    return find_function(name) or XError(complaint.format(name))


def _read_property(machine: _Machine, container: XObject, name: str) -> Value:
    value = container.value(name)
    warning = container.warning(name)
    if warning is not None:
        machine.evaluation.warnings.append(warning)
    return value


def _dot_step(name: str) -> Step:
    def look_up(machine: _Machine) -> None:
        container = machine.stack.pop()
        machine.evaluation.budget.charge(None)
        if isinstance(container, XObject):
            known = container.find_name(name)
            if known is None:
                machine.stack.append(XError(f"object has no property '{name}'"))
            else:
                machine.stack.append(_read_property(machine, container, known))
        else:
            machine.stack.append(_look_up(machine, container, name))

    return look_up


def _look_up_in_brackets(machine: _Machine) -> None:
    key, container = machine.stack.pop(), machine.stack.pop()
    machine.evaluation.budget.charge(None)
    machine.stack.append(_look_up(machine, container, key))


def _look_up(machine: _Machine, container: Value, key: Value) -> Value:
    for operand in (container, key):
        if isinstance(operand, XError):
            return operand
    try:
        if isinstance(container, XArray):
            return _read_item(container, to_integer(machine.evaluation, key))
        if isinstance(container, XObject):
            known = container.find_name(to_text(machine.evaluation, key))
            return None if known is None else _read_property(machine, container, known)
    except ExpressionError as error:
        return XError(str(error))
    return XError(f"{describe(container)} doesn't support lookups")


def _read_item(array: XArray, index: int) -> Value:
    if not -len(array) <= index < len(array):
        return XError(f"index {index} out of range for {len(array)} items")
    item: Value = array[index]
    return item


def _binary_step(operator: str) -> Step:
    def apply(machine: _Machine) -> None:
        right, left = machine.stack.pop(), machine.stack.pop()
        result = apply_operator(machine.evaluation, operator, left, right)
        machine.evaluation.budget.charge(result)
        machine.stack.append(result)

    return apply


def _negate(machine: _Machine) -> None:
    result = negate(machine.evaluation, machine.stack.pop())
    machine.evaluation.budget.charge(result)
    machine.stack.append(result)


def _call_step(count: int, function_node: Expression) -> Step:
    def call(machine: _Machine) -> None:
        start = len(machine.stack) - count
        arguments = machine.stack[start:]
        del machine.stack[start:]
        function = machine.stack.pop()
        if isinstance(function, XFunction):
            result = function.call(machine.evaluation, arguments)
        elif isinstance(function, XError):
            result = function
        else:
            result = XError(f"{function_node} is not a function")
        machine.evaluation.budget.charge(result)
        machine.stack.append(result)

    return call


def _anonymous_function_step(node: AnonymousFunction) -> Step:
    program = Program(node.body)

    def push(machine: _Machine) -> None:
        machine.evaluation.budget.spend(FUNCTION_MAKING_WORK)
        machine.stack.append(_make_anonymous_function(node.parameters, program, machine.scope))

    return push


def _make_anonymous_function(names: tuple[str, ...], program: Program, scope: Scope) -> XFunction:
    def apply(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
        if len(arguments) != len(names):
            return XError(f"need {len(names)} argument(s), got {len(arguments)}")
        evaluation.budget.spend(ANONYMOUS_CALL_WORK)
        evaluation.enter()
        try:
            return program.run(evaluation, Scope(dict(zip(names, arguments, strict=True)), scope, scope.context))
        finally:
            evaluation.leave()

    return XFunction("<anon>", apply)
