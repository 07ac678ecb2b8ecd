"""Evaluates parsed expressions (flow format, evaluation rules), and whole templates, as text or as a typed value (flow
format, templates).

A tree is first flattened into steps of a stack machine, so that deep trees need no deep recursion; only anonymous
functions that call each other nest, and that is limited. All steps of a program are always run, because errors are
values too; their fixed cost is paid before the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from flows.environment import Clock, Environment
from flows.expressions.conversions import to_integer, to_text
from flows.expressions.decimals import check_range
from flows.expressions.evaluation import (
    NO_RESOURCES,
    OUT_OF_RANGE,
    Budget,
    Evaluation,
    ExpressionError,
    ExpressionTooComplexError,
    Resources,
    cost_of,
)
from flows.expressions.functions.registry import find_function
from flows.expressions.operators import binary_operator, negate
from flows.expressions.parser import CACHED_EXPRESSIONS, CACHED_LENGTH, ExpressionSyntaxError, parse_expression
from flows.expressions.scanner import TemplateToken, TokenKind, scan_template
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
    NullLiteral,
    NumberLiteral,
    TextLiteral,
)
from flows.expressions.values import MISSING, Deprecated, Value, XArray, XError, XFunction, XObject, describe
from flows.words import cut_between_letters

ANONYMOUS_CALL_WORK = 4
FUNCTION_MAKING_WORK = 4


class Scope:
    """The parameters of an anonymous function during a call, with those of the enclosing functions."""

    __slots__ = ("context", "outer", "parameters")

    def __init__(self, parameters: Mapping[str, Value], outer: Scope | None, context: XObject) -> None:
        self.parameters = parameters
        self.outer = outer
        self.context = context

    def find(self, name: str) -> Value:
        """The value of the innermost parameter with this name, which must exist."""
        scope = self
        while name not in scope.parameters and scope.outer is not None:
            scope = scope.outer
        return scope.parameters[name]


Step = Callable[[list[Value], Evaluation, Scope], None]


class Program:
    """A compiled expression; it is flattened when first run, after which its tree is dropped. `parameters` are the
    names of all enclosing parameters: a name refers to one of them, otherwise to the context.
    """

    __slots__ = ("_cost", "_expression", "_parameters", "_work", "steps")

    def __init__(self, expression: Expression, parameters: frozenset[str] = frozenset()) -> None:
        self._expression: Expression | None = expression
        self._parameters = parameters
        self.steps: list[Step] = []
        self._cost = self._work = 0

    def evaluate(self, evaluation: Evaluation, scope: Scope) -> Value:
        """The value of the expression, an error value if it has none."""
        try:
            return self.run(evaluation, scope)
        except (ExpressionTooComplexError, RecursionError):
            # A host with a deep call stack leaves less stack than these limits assume.
            return XError(str(ExpressionTooComplexError()))

    def run(self, evaluation: Evaluation, scope: Scope) -> Value:
        """The value of the expression; raises ExpressionTooComplexError if the evaluation's budget is exceeded."""
        steps = self.steps or self._flatten()
        evaluation.budget.pay(self._cost, self._work)
        stack: list[Value] = []
        for step in steps:
            step(stack, evaluation, scope)
        return stack.pop()

    def _flatten(self) -> list[Step]:
        expression = self._expression
        if expression is None:  # another thread was faster
            return self.steps
        maker = _StepMaker(self._parameters)
        steps = maker.flatten(expression)
        self._cost, self._work = maker.cost, maker.work
        self.steps = steps
        self._expression = None
        return steps


def compile_expression(expression: str) -> Program:
    """The program of an expression; raises ExpressionSyntaxError. Programs of short expressions are cached."""
    if len(expression) > CACHED_LENGTH:
        return Program(parse_expression(expression))
    return _compile_cached(expression)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compile_cached(expression: str) -> Program:
    return Program(parse_expression(expression))


def make_error_program(message: str) -> Program:
    """The program of an expression that cannot be read: its value is the error."""
    program = Program(NullLiteral())
    program.steps = [_constant_step(XError(message))]
    return program


class _StepMaker:
    """Creates the steps of one program and adds up their fixed cost and work."""

    __slots__ = ("cost", "parameters", "work")

    def __init__(self, parameters: frozenset[str]) -> None:
        self.parameters = parameters
        self.cost = 0
        self.work = 0

    def flatten(self, expression: Expression) -> list[Step]:
        """The steps in the order in which they are run."""
        steps: list[Step] = []
        pending: list[Expression | Step] = [expression]
        while pending:
            item = pending.pop()
            if not isinstance(item, Expression):
                steps.append(item)
            elif isinstance(item, Call):
                self.work += 1
                pending.append(_call_step(len(item.arguments), item.function))
                pending.extend(reversed(item.arguments))
                pending.append(self._callee(item.function))
            elif isinstance(item, Group):
                pending.append(item.inner)
            elif isinstance(item, DotLookup):
                pending.extend(self._path_parts(item))
            else:
                pending.append(self._make_step(item))
                if not isinstance(item, AnonymousFunction):
                    pending.extend(reversed(item.children))
        return steps

    def _callee(self, function: Expression) -> Expression | Step:
        if not isinstance(function, ContextReference):
            return function
        return self._name_step(function.name, "{} is not a function")

    def _path_parts(self, item: DotLookup) -> list[Expression | Step]:
        """One step for `name.part.part`; otherwise the steps of the container, and one step for all parts after it."""
        names: list[str] = []
        base: Expression = item
        while isinstance(base, DotLookup):
            names.append(base.name)
            base = base.container
        names.reverse()
        self.work += len(names)
        self.cost += len(names)
        if not isinstance(base, ContextReference):
            return [_dots_step(names), base]
        self.work += 1
        if base.name in self.parameters:
            return [_dots_step(names), _parameter_step(base.name)]
        return [_path_step(base.name, names)]

    def _name_step(self, name: str, complaint: str) -> Step:
        self.work += 1
        if name in self.parameters:
            return _parameter_step(name)
        return _context_step(name, find_function(name) or XError(complaint.format(name)))

    def _make_step(self, node: Expression) -> Step:
        if isinstance(node, ContextReference):
            return self._name_step(node.name, "context has no property '{}'")
        self.work += 1
        if isinstance(node, BracketLookup):
            self.cost += 1
            return _look_up_in_brackets
        if isinstance(node, Binary):
            return _binary_step(node.operator)
        if isinstance(node, Negation):
            return _negate
        if isinstance(node, AnonymousFunction):
            self.work += FUNCTION_MAKING_WORK
            return _anonymous_function_step(node, self.parameters)
        value = _literal_value(node)
        self.cost += cost_of(value)
        return _constant_step(value)


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
    def push(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(value)

    return push


def _parameter_step(name: str) -> Step:
    def push(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(scope.find(name))

    return push


def _context_step(name: str, missing: Value) -> Step:
    def push(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(_read_property(evaluation, scope.context, name, missing))

    return push


def _path_step(root: str, names: Sequence[str]) -> Step:
    missing = find_function(root) or XError(f"context has no property '{root}'")
    parts = [(root, missing), *_describe_parts(names)]

    def push(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(_follow(evaluation, scope.context, parts))

    return push


def _dots_step(names: Sequence[str]) -> Step:
    parts = _describe_parts(names)

    def look_up(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(_follow(evaluation, stack.pop(), parts))

    return look_up


def _describe_parts(names: Sequence[str]) -> Sequence[tuple[str, Value]]:
    """The parts of a path, each with its value if there is no such property."""
    return [(name, XError(f"object has no property '{name}'")) for name in names]


def _follow(evaluation: Evaluation, value: Value, parts: Sequence[tuple[str, Value]]) -> Value:
    for name, missing in parts:
        if not isinstance(value, XObject):
            value = _look_up(evaluation, value, name)
            continue
        found = value.look_up(name)
        if isinstance(found, Deprecated):
            evaluation.warnings.append(found.warning)
            found = found.value
        value = missing if found is MISSING else found
    return value


def _read_property(evaluation: Evaluation, container: XObject, name: str, missing: Value) -> Value:
    found = container.look_up(name)
    if isinstance(found, Deprecated):
        evaluation.warnings.append(found.warning)
        return found.value
    return missing if found is MISSING else found


def _look_up_in_brackets(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
    key, container = stack.pop(), stack.pop()
    stack.append(_look_up(evaluation, container, key))


def _look_up(evaluation: Evaluation, container: Value, key: Value) -> Value:
    for operand in (container, key):
        if isinstance(operand, XError):
            return operand
    try:
        if isinstance(container, XArray):
            return _read_item(container, to_integer(evaluation, key))
        if isinstance(container, XObject):
            return _read_property(evaluation, container, to_text(evaluation, key), None)
    except ExpressionError as error:
        return XError(str(error))
    return XError(f"{describe(container)} doesn't support lookups")


def _read_item(array: XArray, index: int) -> Value:
    if not -len(array) <= index < len(array):
        return XError(f"index {index} out of range for {len(array)} items")
    item: Value = array[index]
    return item


def _binary_step(symbol: str) -> Step:
    apply_operator = binary_operator(symbol)

    def apply(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        right, left = stack.pop(), stack.pop()
        result = apply_operator(evaluation, left, right)
        evaluation.budget.charge(result)
        stack.append(result)

    return apply


def _negate(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
    result = negate(evaluation, stack.pop())
    evaluation.budget.charge(result)
    stack.append(result)


def _call_step(count: int, function_node: Expression) -> Step:
    def call(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        start = len(stack) - count
        arguments = stack[start:]
        del stack[start:]
        function = stack.pop()
        if isinstance(function, XFunction):
            result = function.call(evaluation, arguments)
        elif isinstance(function, XError):
            result = function
        else:
            result = XError(f"{function_node} is not a function")
        evaluation.budget.charge(result)
        stack.append(result)

    return call


def _anonymous_function_step(node: AnonymousFunction, parameters: frozenset[str]) -> Step:
    program = Program(node.body, parameters.union(node.parameters))

    def push(stack: list[Value], evaluation: Evaluation, scope: Scope) -> None:
        stack.append(_make_anonymous_function(node.parameters, program, scope))

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


TEXT_LIMIT = 10_000
ELLIPSIS = "..."
EXPRESSION_LENGTH_LIMIT = 50_000


class TemplateError(str):
    """What went wrong with one expression of a template, as `error evaluating @x: reason`."""

    __slots__ = ("expression", "reason")

    expression: str
    reason: str

    def __new__(cls, expression: str, reason: str) -> Self:
        """Builds the text from the expression as written, with its `@`, and the reason."""
        error = super().__new__(cls, f"error evaluating {expression}: {reason}")
        error.expression = expression
        error.reason = reason
        return error


@dataclass(slots=True)
class TextResult:
    """A template as text; `errors` and `warnings` are in the order in which they occurred."""

    text: str
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def error_text(self) -> str:
        """All errors in one text, empty when there are none."""
        return ", ".join(self.errors)


@dataclass(slots=True)
class ValueResult:
    """A template as a value; a single expression with an error gives an XError value and no `errors`."""

    value: Value
    errors: list[TemplateError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """An expression within a template, as written and as a program."""

    source: str
    program: Program

    def write(self, scope: Scope, evaluation: Evaluation) -> str | XError:
        """The text of the expression."""
        value = self.program.evaluate(evaluation, scope)
        if isinstance(value, XError):
            return value
        try:
            return to_text(evaluation, value)
        except (ExpressionError, ExpressionTooComplexError) as error:
            return XError(str(error))


class Template:
    """A compiled template: its literal texts and the programs of its expressions, in order."""

    __slots__ = ("_pieces", "_single")

    def __init__(self, text: str, roots: frozenset[str]) -> None:
        """`roots` are the names, in lower case, with which identifiers in the text may begin."""
        self._pieces = tuple(_make_piece(token) for token in scan_template(text, roots))
        first = self._pieces[0] if self._pieces else ""
        is_single = isinstance(first, _Placeholder) and len(first.source) == len(text)
        self._single = first if is_single and isinstance(first, _Placeholder) else None

    def write(
        self, context: XObject, evaluation: Evaluation, escape: Callable[[str], str] | None
    ) -> tuple[str, list[TemplateError]]:
        """The text, and the errors of expressions, which become empty strings in it."""
        scope = Scope({}, None, context)
        written: list[str] = []
        errors: list[TemplateError] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                written.append(piece)
                continue
            text = piece.write(scope, evaluation)
            if isinstance(text, XError):
                errors.append(TemplateError(piece.source, text.message))
            else:
                written.append(escape(text) if escape else text)
        return "".join(written), errors

    def read(self, context: XObject, evaluation: Evaluation) -> tuple[Value, list[TemplateError]]:
        """The value of a template that is one expression; the text of any other, cut to its limit, and its errors."""
        if self._single is not None:
            return self._single.program.evaluate(evaluation, Scope({}, None, context)), []
        text, errors = self.write(context, evaluation, None)
        return cut_text(text, TEXT_LIMIT), errors


def compile_template(text: str, roots: frozenset[str]) -> Template:
    """A text as a template, see `Template`. Templates of short texts are cached."""
    return Template(text, roots) if len(text) > CACHED_LENGTH else _read_cached(text, roots)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _read_cached(text: str, roots: frozenset[str]) -> Template:
    return Template(text, roots)


def evaluate_text(
    template: str,
    context: XObject,
    env: Environment,
    clock: Clock,
    *,
    escape: Callable[[str], str] | None = None,
    limit: int | None = TEXT_LIMIT,
    resources: Resources = NO_RESOURCES,
    budget: Budget | None = None,
) -> TextResult:
    """The template with its expressions evaluated, cut to `limit` characters (None: never). `escape` is applied to the
    text of each expression. An expression with an error becomes an empty string and is reported.
    """
    evaluation = Evaluation(env, clock, resources, budget)
    text, errors = compile_template(template, context.roots()).write(context, evaluation, escape)
    return TextResult(cut_text(text, limit), errors, evaluation.warnings)


def evaluate_value(
    template: str | Template,
    context: XObject,
    env: Environment,
    clock: Clock,
    *,
    resources: Resources = NO_RESOURCES,
    budget: Budget | None = None,
) -> ValueResult:
    """The value of a template that is one expression, ignoring space around it; for any other template, its text
    without that space."""
    evaluation = Evaluation(env, clock, resources, budget)
    ready = compile_template(template.strip(), context.roots()) if isinstance(template, str) else template
    value, errors = ready.read(context, evaluation)
    return ValueResult(value, errors, evaluation.warnings)


def _make_piece(token: TemplateToken) -> str | _Placeholder:
    if token.kind is TokenKind.BODY:
        return token.text
    if len(token.text) > EXPRESSION_LENGTH_LIMIT:
        return _Placeholder(token.source, make_error_program(str(ExpressionTooComplexError())))
    try:
        return _Placeholder(token.source, compile_expression(token.text))
    except ExpressionSyntaxError as error:
        return _Placeholder(token.source, make_error_program(str(error)))


def cut_text(text: str, limit: int | None) -> str:
    """A text cut to a number of characters (None: never), with dots at the end if it was longer."""
    if limit is None or len(text) <= limit:
        return text
    return cut_between_letters(text, max(0, limit - len(ELLIPSIS))) + ELLIPSIS
