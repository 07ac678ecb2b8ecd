"""The language model of flows, a chat completions API (flow format, call_llm)."""

import time
from dataclasses import dataclass
from typing import Any

from flows.asset_kinds import Llm
from flows.engine.services import LlmReply
from worker.flows.services.json_services import JsonService

OUTPUT_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class FlowLanguageModel:
    """Uses the model in the settings for every model that a flow names."""

    service: JsonService
    model: str

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        """The model's answer to an input with instructions. Raises ServiceError."""
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        started = time.monotonic()
        answer = self.service.ask({"model": self.model, "messages": messages})
        elapsed_ms = round((time.monotonic() - started) * 1000)
        output = _find_output(answer)
        if output is None:
            raise self.service.fail("responded without a text")
        usage = answer.get("usage")
        tokens = [_count(usage, name) for name in ("prompt_tokens", "completion_tokens")]
        return LlmReply(output.strip()[:OUTPUT_CHARACTERS], tokens[0], tokens[1], elapsed_ms)


def _find_output(answer: dict[str, Any]) -> str | None:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content.replace("\0", "") if isinstance(content, str) else None


def _count(usage: object, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else 0
