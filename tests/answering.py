"""Contacts that answer what flows ask them, through simulated phones."""

import re
import threading
from collections.abc import Callable

from relayboard.phone.phone import Phone
from relayboard.phone.wire import NoReply

IDLE_SECONDS = 0.25
"""Each sync of a phone that has nothing to say costs the machine a request."""
Answer = Callable[[str, str], str | None]
"""What a contact (a number) says to a text; None for nothing."""


class AnsweringPhone(threading.Thread):
    """A phone that relays all questions to its contacts and their answers, until it is stopped."""

    def __init__(self, phone: Phone, answer: Answer) -> None:
        super().__init__(name="answering phone", daemon=True)
        self.phone = phone
        self.answer = answer
        self.stopped = threading.Event()
        self.error: BaseException | None = None
        self._answered: set[int] = set()

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                if not self._turn():
                    self.stopped.wait(IDLE_SECONDS)
        except BaseException as error:
            self.error = error

    def _turn(self) -> bool:
        """One sync; whether anything was said on either side."""
        try:
            self.phone.sync()
        except NoReply:
            return False
        self.phone.send_waiting()
        new = [
            held for held in list(self.phone.state.messages.values()) if held.copies and held.id not in self._answered
        ]
        for held in sorted(new, key=lambda held: held.id):
            self._answered.add(held.id)
            said = self.answer(held.phone, held.text)
            if said is not None:
                self.phone.receive_sms(held.phone, said)
        return bool(new)


def answer_questions(_number: str, text: str) -> str | None:
    """`answer 7` to every text that asks question 7."""
    asked = re.search(r"Question (\d+)", text)
    return f"answer {asked.group(1)}" if asked else None
