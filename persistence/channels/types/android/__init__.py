"""Android phones that relay SMS. What they say and are answered is the relayer protocol: `handlers/relay/`."""

from persistence.channels.types.declaration import ChannelType

TYPE = ChannelType("android", schemes=("tel",), is_relayer=True)
