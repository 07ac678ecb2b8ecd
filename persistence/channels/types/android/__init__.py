"""Android phones that relay SMS. Their requests are in the relayer protocol: `handlers/relay/`."""

from persistence.channels.types import ChannelType

TYPE = ChannelType("android", schemes=("tel",), is_relayer=True)
