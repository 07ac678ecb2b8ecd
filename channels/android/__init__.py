"""Android phones that relay SMS. Their requests are in the relayer protocol: `handlers/relay/`."""

from channels.declaration import ChannelType

TYPE = ChannelType(
    "android",
    schemes=("tel",),
    title="Android phone",
    help="SMS by an Android phone of your own and its SIM card",
    is_relayer=True,
)
