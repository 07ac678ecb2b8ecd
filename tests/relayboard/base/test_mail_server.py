"""The URL of the mail server."""

import pytest

from relayboard.base.mail_server import MailServer, read_mail_server


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://host?from=a@b.org", MailServer("host", 587, "a@b.org", "starttls")),
        ("smtp://host:25/?from=a%2Bc@b.org&tls=none", MailServer("host", 25, "a+c@b.org", "none")),
        ("smtps://u:p%40ss@host?from=a+c@b.org", MailServer("host", 465, "a+c@b.org", "tls", "u", "p@ss")),
    ],
)
def test_a_url_names_the_server_its_security_and_the_sender(url: str, server: MailServer) -> None:
    assert read_mail_server(url) == server


def test_no_url_is_no_server() -> None:
    assert read_mail_server("") is None


@pytest.mark.parametrize(
    "url",
    [
        "smtp://u:hidden@host",
        "smtp://u:hidden@host?from=nobody",
        "smtp://u:hidden@host?from=a@b.org&tls=maybe",
        "smtps://u:hidden@host?from=a@b.org&tls=none",
        "smtp://u:hidden@host?from=a@b.org&other=1",
        "smtp://u:hidden@host:port?from=a@b.org",
        "http://u:hidden@host?from=a@b.org",
        "smtp:///?from=a@b.org",
    ],
)
def test_a_url_that_leaves_something_open_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_mail_server(url)

    assert "hidden" not in str(refused.value)


def test_a_server_shows_no_password_when_printed() -> None:
    assert "hidden" not in repr(read_mail_server("smtp://u:hidden@host?from=a@b.org"))
