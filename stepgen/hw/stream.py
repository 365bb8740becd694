"""Signature of the hardware stream: valid/ready handshake and the payload of a beat."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream

from stepgen.hw.design.table import Channel
from stepgen.ir.wire import KIND_BITS

__all__ = ["payload_shape", "signature"]


def payload_shape(channel: Channel):
    """Shape of the payload of `channel`.

    Returns
    -------
    Shape
        For a channel with structure a layout with the fields ``kind`` (``VALUE``, ``BARE`` or
        ``DONE``), ``stop`` and ``data`` (lane 0 in the lowest bits; in an empty token the level of
        the group); for a raw channel plain unsigned bits.
    """
    if channel.rank is None:
        return unsigned(channel.bits)
    return data.StructLayout(
        {"kind": KIND_BITS, "stop": channel.stop_bits, "data": unsigned(channel.data_bits)}
    )


def signature(channel: Channel) -> stream.Signature:
    """Signature of the stream that carries the beats of `channel`.

    For a channel with ``delay`` p the payload belongs to the handshake p cycles earlier.
    """
    return stream.Signature(payload_shape(channel))
