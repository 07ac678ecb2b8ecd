"""How mails are written, and what strangers cannot do to those who read theirs."""

import time
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from channels.calls import Attachment, Later, Message, Refused, Sent, Unread
from channels.email import answered, check_address, write_mail
from channels.email.reading import cut_reply, read_mail, text_of_page

SETTINGS = {"host": "smtp.example.org", "from_address": "clinic@example.org", "from_name": "Clinique Étoile"}
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
UUID = "5d1d1a52-0000-4000-8000-000000000007"
MULTIPART = "From: a@example.org\nContent-Type: multipart/mixed; boundary="
SECONDS = 3.0
"""Far more than reading may take, on a machine that has other work."""


def written(**given: object) -> EmailMessage:
    message = Message(**{"uuid": UUID, "to": "zoe@example.com", "text": "Good morning", **given})  # type: ignore[arg-type]
    content = write_mail(message, SETTINGS, NOW)
    assert content.isascii()
    read = message_from_bytes(content, EmailMessage, policy=default)
    assert isinstance(read, EmailMessage)
    return read


class TestWriting:
    def test_a_mail_names_itself_always_alike_and_says_how_to_unsubscribe(self) -> None:
        mail = written(text="Voilà", attachments=(Attachment("image/png", "https://example.org/a.png"),))

        assert (mail["From"], mail["To"]) == ("Clinique Étoile <clinic@example.org>", "zoe@example.com")
        assert (mail["Subject"], mail["Message-ID"]) == ("Clinique Étoile", f"<{UUID}@example.org>")
        assert mail["List-Unsubscribe"] == "<mailto:clinic@example.org?subject=unsubscribe>"
        assert mail.get_content().replace("\r\n", "\n").strip() == "Voilà\nhttps://example.org/a.png"

    @pytest.mark.parametrize(("subject", "becomes"), [("Visit", "Re: Visit"), ("RE: Visit", "RE: Visit")])
    def test_an_answer_stands_under_what_it_answers(self, subject: str, becomes: str) -> None:
        mail = written(answers="m1@example.com", subject=subject)

        assert (mail["In-Reply-To"], mail["References"]) == ("<m1@example.com>", "<m1@example.com>")
        assert mail["Subject"] == becomes

    @pytest.mark.parametrize(
        "given", [{"to": "a@b.de\nBcc: c@d.de"}, {"to": "zoë@example.com"}, {"subject": "a\nBcc: b@c.de"}]
    )
    def test_what_would_become_another_header_is_not_written(self, given: dict[str, str]) -> None:
        with pytest.raises(ValueError):
            written(**given)

    @pytest.mark.parametrize("text", ["clinic", "clinic@example", "Clinic <a@example.org>", "a@b.de, c@d.de", "ö@b.de"])
    def test_the_address_of_a_channel_is_one_plain_address(self, text: str) -> None:
        check_address("clinic@example.org")
        with pytest.raises(ValueError):
            check_address(text)

    def test_replies_of_servers_mean_sent_later_or_never(self) -> None:
        assert answered(250, "OK", "id") == Sent("id")
        assert answered(450, "greylisted") == Later("The mail server says 450: greylisted", 300.0)
        assert answered(421, "too\nmuch") == Later("The mail server says 421: too much", 60.0, is_for_all=True)
        assert answered(550, "no mailbox") == Refused("The mail server says 550: no mailbox")


HOSTILE = {
    "a hundred thousand parts": MULTIPART + "x\n\n" + "--x\n\n\n" * 100_000,
    "parts behind an escaped boundary": MULTIPART + '"a\\b"\n\n' + "--ab\n\n\n" * 100_000,
    "parts behind a boundary that does not end": MULTIPART + '"ab\n\n' + '--"ab\n\n\n' * 100_000,
    "parts inside of parts": MULTIPART
    + "b0\n\n"
    + "".join(f"--b{each}\nContent-Type: multipart/mixed; boundary=b{each + 1}\n\n" for each in range(15_000)),
    "mails inside of mails": "From: a@example.org\n" + "Content-Type: message/rfc822\n\n" * 30_000,
}


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_more_parts_than_anybody_sends_are_refused_before_they_are_parsed(self, name: str) -> None:
        started = time.process_time()
        with pytest.raises(Unread):
            read_mail(HOSTILE[name].encode(), "")
        assert time.process_time() - started < SECONDS

    @pytest.mark.parametrize("piece", ["<", "<!--", "<p ", "<blockquote>", "&", "<script>", "<a href='", "-->"])
    def test_a_page_of_nothing_but_one_sign_is_read_quickly(self, piece: str) -> None:
        started = time.process_time()
        text_of_page(piece * (256 * 1024 // len(piece)))
        assert time.process_time() - started < SECONDS

    @pytest.mark.parametrize("piece", ["On wrote:\n", "On ", "> a\nOn x\n", "=?utf-8?q?a?= "])
    def test_a_text_or_a_header_of_nothing_but_one_word_is_read_quickly(self, piece: str) -> None:
        content = piece * (1_000_000 // len(piece))
        started = time.process_time()
        cut_reply(content)
        read_mail(
            f"From: a@example.org\nSubject: {piece.strip()}{content.replace(chr(10), ' ')}\n\n{content}".encode(), ""
        )
        assert time.process_time() - started < SECONDS
