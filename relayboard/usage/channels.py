"""How channels are called. Their options are made of the types of channels, which take as long to load as all other
declarations together: `program.py` loads this module when a command of channels is called.
"""

from collections.abc import Iterator, Mapping

import click

from channels.declaration import Setting
from channels.presets import list_presets
from channels.types import DEFAULT_GATEWAY, GATEWAYS, TYPES
from relayboard.usage.parts import Action, OneOf, flag, limit, option, text_or_file, this, workspace
from relayboard.usage.people import IN
from relayboard.usage.values import CALL_OUTCOMES, CHANNEL_EVENTS, FASTEST_GATEWAY, SLOWEST_GATEWAY, Number, WholeNumber

TERMS = ("transliterate", "cost_per_segment", "sending_hours", "automatic_per_day")
PACE = Number(SLOWEST_GATEWAY, FASTEST_GATEWAY)
ID = "0c9f7d56-3f1e-4c0e-8a34-6f1f5e2b9a10"
THIS = ID
USUAL_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 30, 3600


def channel() -> OneOf:
    return this("channel", "--channel", "the UUID, name or address of the channel")


def pace(text: str) -> click.Option:
    return option("--messages-per-second", text, kind=PACE, metavar="N")


def fields() -> list[click.Parameter | OneOf]:
    """What is given for the fields of a preset: the pages of docs/channels/ list them."""
    return [
        option("--set", "a field of the preset; repeat", metavar="NAME=VALUE", several=True, into="set_values"),
        option(
            "--set-file",
            "a field of the preset from a file, as secrets must be; - reads it from standard input; repeat",
            metavar="NAME=FILE",
            several=True,
            into="set_files",
        ),
    ]


def list_terms() -> list[click.Parameter | OneOf]:
    """The settings that channels of all types have."""
    return [
        option("--transliterate", "write SMS without accents that make them longer?", choices=("yes", "no")),
        option("--cost-per-segment", "what an SMS costs, for the figures", kind=Number(0, 1000), metavar="N"),
        option("--sending-hours", "days and times at which broadcasts, campaigns and starts go", metavar="TEXT"),
        option(
            "--automatic-per-day",
            "at most so many segments of automatic messages a day; more wait for the next",
            kind=WholeNumber(0, 1_000_000),
            metavar="N",
        ),
    ]


def list_schemes() -> list[str]:
    return sorted({scheme for name in GATEWAYS for scheme in TYPES[name].schemes})


def list_settings(*, are_changes: bool = False) -> list[click.Parameter | OneOf]:
    """An option for each setting of all types. One that several types have says what it is for each. None is required
    of changes."""
    shared: dict[str, dict[str, Setting]] = {}
    for name in GATEWAYS:
        for each in TYPES[name].settings:
            shared.setdefault(each.flag, {})[name] = each
    return [part for of_types in shared.values() for part in _setting(of_types, are_changes=are_changes)]


def list_setting_names() -> list[str]:
    return sorted({each.name for name in GATEWAYS for each in TYPES[name].settings})


def _setting(of_types: Mapping[str, Setting], *, are_changes: bool) -> Iterator[click.Parameter | OneOf]:
    """The option of a setting, by its declaration in each type that has it."""
    setting, text = next(iter(of_types.values())), _help(of_types)
    if setting.kind in ("text", "url"):
        is_needed = len(of_types) == len(GATEWAYS) and all(each.is_required for each in of_types.values())
        metavar = "URL" if setting.kind == "url" else "TEXT"
        yield text_or_file(setting.flag, text, required=is_needed and not are_changes, metavar=metavar)
    elif setting.is_secret:
        yield option(setting.flag, f"{text} Read from this file; - for standard input", metavar="FILE")
    elif setting.kind == "flag":
        yield flag(setting.flag, text)
    elif setting.kind == "number":
        lowest, highest = zip(*(each.bounds for each in of_types.values()), strict=True)
        yield option(setting.flag, text, kind=WholeNumber(min(lowest), max(highest)), metavar="N")
    else:
        choices = dict.fromkeys(choice for each in of_types.values() for choice in each.choices or ())
        # With a metavar of its own it names no record: the user of a mail server is none of the workspace.
        yield option(setting.flag, text, choices=tuple(choices), metavar=None if choices else "TEXT")


def _help(of_types: Mapping[str, Setting]) -> str:
    """What a setting is, by type; once if several say the same."""
    types: dict[str, list[str]] = {}
    for name, each in of_types.items():
        types.setdefault(each.help, []).append(name)
    return " ".join(f"{', '.join(names)}: {text}." for text, names in types.items())


ACTIONS = (
    Action("list", "channels.run_list", "the active channels of a workspace", workspace(), examples=(IN,)),
    Action(
        "show",
        "channels.run_show",
        "one channel",
        channel(),
        examples=(ID, "'Front desk'"),
    ),
    Action(
        "health",
        "channels.run_health",
        "what waits for a channel, its alarms, and what a phone reported hour by hour",
        channel(),
        examples=(THIS,),
    ),
    Action(
        "alarms",
        "channels.run_alarms",
        "the newest alarms of phones",
        workspace(),
        option("--channel", "only those of this channel", metavar="UUID"),
        limit(),
        examples=(IN,),
    ),
    Action(
        "calls",
        "channels.run_calls",
        "the newest calls to gateways and by them, with secrets hidden",
        workspace(),
        option("--channel", "only those of this channel", metavar="UUID"),
        option("--outcome", "only these", choices=CALL_OUTCOMES),
        option("--direction", "only those to the gateway (out), or by it (in)", choices=("out", "in")),
        limit(),
        examples=(f"{IN} --outcome refused --limit 5",),
    ),
    Action(
        "check",
        "channels.run_check",
        "ask the provider of a gateway whether its settings work",
        channel(),
        flag("--connect", "tell the provider the URL and the secret of the gateway once more, instead"),
        option(
            "--wait",
            "how long to wait for what a worker is told; default: 30",
            kind=WholeNumber(0, LONGEST_WAIT_SECONDS),
            metavar="SECONDS",
            default=USUAL_WAIT_SECONDS,
        ),
        more="A worker asks. Providers that can be told the URL are told it by themselves when a gateway is made, "
        "changed or gets a new secret.",
        examples=(THIS, f"{THIS} --connect --wait 60"),
    ),
    Action(
        "claim",
        "channels.run_claim",
        "attach the phone that shows a claim code",
        workspace(),
        option("--claim-code", "the code that the phone shows; in quotes if it has spaces", required=True),
        option("--phone", "the phone number of its SIM card", required=True),
        option("--name", "a name for the phone"),
        flag("--second-phone", "attach it beside the phone that has this number, instead of replacing that one"),
        more="A phone of the workspace with the same number is replaced: the new one takes over its name, its webhook, "
        "its triggers, its contacts and the messages that it has not fetched yet, and the old one is released.",
        examples=(f"{IN} --claim-code '4FD 2NQ 7PL' --phone +250788123123 --name 'Front desk'",),
    ),
    Action(
        "create",
        "channels.run_create",
        "a gateway, by its type or by the preset of a provider",
        workspace(),
        option("--type", f"default: {DEFAULT_GATEWAY}", choices=GATEWAYS, default=DEFAULT_GATEWAY),
        option("--preset", "settings for the gateways of one provider, made from its fields", choices=list_presets()),
        fields(),
        option("--name", "a name for the gateway", required=True),
        option("--address", "the phone number or name that messages come from", required=True),
        option(
            "--scheme", "scheme of the URNs that it can send to; default: tel", choices=list_schemes(), default="tel"
        ),
        option("--country", "two letters, for example RW", default=""),
        list_settings(),
        list_terms(),
        flag("--allow-international", "messages to numbers of other countries than the gateway's may go through it"),
        pace("over all workers; default: no limit"),
        examples=(
            f"{IN} --name Aggregator --address 8181 --send-url https://sms.example.org/send",
            f"{IN} --name Phone --address +18005550199 --preset httpsms --set-file api_key=api-key "
            "--set-file signing_key=signing-key",
        ),
    ),
    Action(
        "change",
        "channels.run_change",
        "rename a channel, say where it sends to, or change how a gateway is called",
        channel(),
        option("--name", "the new name"),
        option(
            "--allow-international", "may messages to numbers of other countries go through it?", choices=("yes", "no")
        ),
        fields(),
        list_terms(),
        list_settings(are_changes=True),
        option(
            "--reset",
            "this setting gets its default; repeat",
            choices=sorted({*list_setting_names(), *TERMS}),
            several=True,
        ),
        more="The rate limit, the secret and the webhook have commands of their own. A gateway that sends from another "
        "address is a new channel.",
        examples=(
            f"{THIS} --name 'Front desk' --allow-international yes",
            f"{THIS} --send-url https://sms.example.org/v2/send --reset method",
            f"{THIS} --sending-hours 'mon-fri 08:00-18:00' --automatic-per-day 500",
        ),
    ),
    Action(
        "limit",
        "channels.run_limit",
        "set the rate limit of a gateway",
        channel(),
        OneOf(pace("parts of messages, over all workers"), flag("--off", "no limit"), required=True),
        examples=(f"{THIS} --messages-per-second 2.5", f"{THIS} --off"),
    ),
    Action(
        "secret",
        "channels.run_secret",
        "show the URL that a gateway calls, with its secret",
        channel(),
        flag("--rotate", "a new secret; the former one is valid for one more day"),
        flag("--end-former", "with --rotate: the former secret becomes invalid at once"),
        examples=(THIS, f"{THIS} --rotate"),
    ),
    Action(
        "webhook",
        "channels.run_webhook",
        "set the delivery URL of a channel; shows the secret that signs its events",
        channel(),
        OneOf(
            text_or_file("--url", "the URL that gets events by POST"),
            flag("--off", "send no more events"),
            flag("--on", "switch on a receiver that was switched off after failing for long"),
            flag("--rotate", "a new secret; for a day requests are also signed with the old one"),
            required=True,
        ),
        option("--event", "repeat; default: all", choices=CHANNEL_EVENTS, several=True),
        examples=(f"{THIS} --url https://example.org/hook --event mo_sms --event mt_sent", f"{THIS} --off"),
    ),
    Action(
        "release",
        "channels.run_release",
        "release a channel; what waits goes by others of its kind, or fails",
        channel(),
        destroys="the channel {channel} is released; messages that it has got, or that no other channel can send, fail",
        asks_pipes=False,
        more="Messages that it has not got yet go by the channel that would be chosen for them now. Prints how many "
        "were handed over and how many failed.",
        examples=(THIS,),
    ),
)
