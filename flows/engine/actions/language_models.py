"""The action that asks a language model (flow format, call_llm)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.services import LlmReply, ServiceError
from flows.engine.visit import Visit

FAILED_OUTPUT = "<ERROR>"


def call_llm(visit: Visit, action: Action) -> None:
    """Leaves the answer of a model, or `<ERROR>`, in a local variable."""
    instructions = visit.text(action.fields["instructions"])
    text = visit.text(action.fields["input"])
    reply = _ask(visit, action, instructions, text)
    visit.run.locals[action.fields["output_local"]] = reply.output if reply else FAILED_OUTPUT


def _ask(visit: Visit, action: Action, instructions: str, text: str) -> LlmReply | None:
    llm = visit.sprint.assets.find_llm(action.fields["llm"])
    service = visit.sprint.services.llm
    if llm is None:
        visit.log.missing_dependency("llm", action.fields["llm"])
        return None
    try:
        if service is None:
            raise ServiceError("No LLM service available")
        reply = service.respond(llm, instructions, text)
    except ServiceError as error:
        visit.log.error(str(error))
        return None
    fields = {
        "llm": llm.reference,
        "instructions": instructions,
        "input": text,
        "output": reply.output,
        "tokens": {"input": reply.input_tokens, "output": reply.output_tokens},
        "elapsed_ms": reply.elapsed_ms,
    }
    visit.log.add("llm_called", fields)
    return reply
