"""A chat of our own on people's sites: visitors write into a widget, and the service itself is the provider. Nothing is
sent by HTTP: a worker hands a message over when it stores that the visitor may have it.
"""

from collections.abc import Sequence

from channels.calls import Message, Request, Settings
from channels.chats import USUAL_COLOUR, check_origins
from channels.declaration import Carries, ChannelType, Setting

MOST_QUICK_REPLIES = 13


def no_requests(message: Message, settings: Settings) -> Sequence[Request]:
    """Nobody is called: a message is handed over once it is stored that the visitor may have it."""
    return ()


TYPE = ChannelType(
    "webchat",
    schemes=("webchat",),
    title="Chat on your own site",
    help="a button on your own site that opens a chat, without any other company",
    settings=(
        Setting(
            "origins",
            "sites that may show the chat, such as https://www.example.org, with spaces between them",
            is_required=True,
            check=check_origins,
        ),
        Setting("title", "what stands above the chat; default: the name of the channel"),
        Setting("greeting", "what visitors read before they write", "text"),
        Setting(
            "colour",
            f"of the button and of what visitors write, such as {USUAL_COLOUR}",
            default=USUAL_COLOUR,
            is_advanced=True,
        ),
        Setting("asks_name", "ask visitors for their name before they write", "flag"),
        Setting("asks_email", "ask visitors for their e-mail address before they write", "flag"),
        Setting("takes_files", "visitors may send pictures, recordings, videos and PDF files", "flag"),
    ),
    carries=Carries(length=4096, attachments=True, quick_replies=MOST_QUICK_REPLIES),
    transport="webchat",
    embed='<script async src="{root}/chat/widget.js" data-channel="{uuid}"></script>',
    requests=no_requests,
)
