"""Signature of the hardware stream: valid/ready handshake and the payload of a beat."""

from amaranth.hdl import Signal, unsigned
from amaranth.lib import data, stream

from stepgen.hw.design.table import Channel
from stepgen.ir.wire import DONE, KIND_BITS

__all__ = ["is_done", "payload_shape", "send_to_all", "signature"]


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


def is_done(payload):
    """Whether a beat is the done beat, by the bit that no other kind has."""
    return payload.kind[DONE.bit_length() - 1]


def send_to_all(m, valid, payload, outputs):
    """Send a beat to all outputs, in the cycle in which all have room.

    Parameters
    ----------
    m : Module
    valid : value
        Whether there is a beat.
    payload : view
        Of the shape of the outputs' payload.
    outputs : list of stream
        At least one.

    Returns
    -------
    Signal
        High in the cycle in which it is sent.
    """
    fire = Signal()
    every = valid
    for o in outputs:
        every = every & o.ready
    m.d.comb += fire.eq(every)
    for o in outputs:
        m.d.comb += [
            o.valid.eq(fire),
            o.payload.kind.eq(payload.kind),
            o.payload.stop.eq(payload.stop),
            o.payload.data.eq(payload.data),
        ]
    return fire
