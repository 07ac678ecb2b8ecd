"""Asks a language model (flow format, call_llm)."""

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import TEXT_LENGTH, local_name, reference, template
from flows.engine.services import LlmReply
from flows.engine.visit import Visit

FAILED_OUTPUT = "<ERROR>"


@action_type(
    {
        "llm": reference("llm", required=True),
        "instructions": template(TEXT_LENGTH, required=True),
        "input": template(TEXT_LENGTH),
        "output_local": local_name(),
    },
    allowed_in=NOT_OFFLINE,
    calls_out=True,
    drawn="Ask {llm}",
    palette="call",
)
def call_llm(visit: Visit, action: Action) -> None:
    """Stores the answer of a model, or `<ERROR>`, in a local variable."""
    instructions = visit.text(action.fields["instructions"])
    text = visit.text(action.text("input"))
    reply = _ask(visit, action, instructions, text)
    visit.run.locals[action.fields["output_local"]] = reply.output if reply else FAILED_OUTPUT


def _ask(visit: Visit, action: Action, instructions: str, text: str) -> LlmReply | None:
    llm = visit.sprint.assets.find_llm(action.fields["llm"])
    if llm is None:
        visit.log.missing_dependency("llm", action.fields["llm"])
        return None
    service = visit.sprint.services.llm
    reply = visit.ask("LLM", service, lambda service: service.respond(llm, instructions, text))
    if reply is not None:
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
