"""DRAM timing of the bursts of tiles: records in the state array, and the functions on them.

Each channel serves its bursts in order of arrival (FCFS): column commands and activates keep that
order. While a burst waits its row may be opened already, if fewer than `window` bursts of the
channel are before it. So the commands of a burst follow from those before it, and a burst costs a
few comparisons. Not modelled: conflicts on the command bus, and controllers that reorder requests.

Times are in ticks, `TICKS` per cycle, since a memory clock need not be an integer number of cycles.
"""

from __future__ import annotations

from stepgen.timing.kernel import Memory, helper, offsets
from stepgen.timing.tiles.ports import MEMORY, PORT

TICKS = 16
"""Ticks per cycle."""
CHUNK = 16
"""Bursts handled in one step, over several cycles if a port issues fewer in a cycle."""
ACTIVATES = 4
"""Activates allowed in a window of tFAW."""
SCATTER = 0x9E3779B1
LONG_AGO = -(1 << 60)
NO_ROW = -1

TIMES = (
    *("burst", "cl", "cwl", "rcd", "rp", "ras", "ccd_s", "ccd_l", "rrd_s", "rrd_l", "faw"),
    *("wr", "rtp", "wtr_s", "wtr_l", "rtw", "refi", "rfc"),
)
"""Timings of a part, as fields of the memory's record."""
D = offsets(
    *MEMORY._fields,
    *("channels", "first", "channel_size", "burst_bytes", "bursts", "latency"),
    *("interleave", "turn", "block", "sets", "groups", "banks", "window"),
    *TIMES,
)
"""The record of the memory."""
P = offsets(*PORT._fields, "next", "rows", "row_address", "row_bytes", "pitch", "write", "latest")
"""The record of a port."""
CHANNEL = offsets(
    *("next_read", "next_write", "next_activate", "refresh"),
    *("oldest_activate", "oldest_column", "groups"),
)
"""The record of a channel: the earliest next column command of each kind, next activate and next
refresh, and the positions of the oldest entries of the two rings. Its bank groups, its banks, the
ring of activates and the ring of columns follow."""
GROUP = offsets("next_read", "next_write", "activate")
"""The record of a bank group: the earliest next column command of each kind, and next activate."""
BANK = offsets("row", "opened", "close", "activate")
"""The record of a bank: its open row, when that was activated, when it may be closed, and when the
next one may be activated."""


@helper
def start(
    M: Memory, port: int, t: int, address: int, rows: int, row_bytes: int, pitch: int, write: int
) -> None:
    """Begin to transfer a tile in cycle `t`.

    Parameters
    ----------
    M : int64 array
        The state array.
    port : int
        Address of the port.
    t : int
        The current cycle.
    address : int
        Byte address of the first row.
    rows, row_bytes : int
        Size of the tile.
    pitch : int
        Bytes from one row to the next; contiguous rows are one transfer.
    write : int
        1 for a store.
    """
    if pitch == row_bytes:
        row_bytes *= rows
        rows = min(rows, 1)
    M[port + P.left] = 0
    M[port + P.at] = t
    M[port + P.rows] = rows if row_bytes else 0
    M[port + P.row_address] = address
    M[port + P.row_bytes] = row_bytes
    M[port + P.pitch] = pitch
    M[port + P.write] = write
    M[port + P.latest] = t * TICKS


@helper
def advance(M: Memory, port: int, t: int) -> int:
    """Continue a tile in cycle `t`; returns 0 when all requests are issued, else the next step.

    ``M[port + P.done]`` is then the cycle of the last response.
    """
    if t < M[port + P.at]:
        return M[port + P.at]
    memory = M[port + P.model]
    per_cycle = M[port + P.rate] * M[memory + D.bursts]
    most = max(CHUNK // per_cycle, 1) * per_cycle
    offered = 0
    while offered < most:
        if M[port + P.left] == 0:
            if M[port + P.rows] == 0:
                break
            _next_row(M, port, memory)
        count = min(M[port + P.left], most - offered)
        latest = _serve(
            M, memory, M[port + P.next], count, M[port + P.write], t, offered, per_cycle
        )
        M[port + P.latest] = max(M[port + P.latest], latest)
        M[port + P.next] += count
        M[port + P.left] -= count
        offered += count
    if offered == 0:
        M[port + P.done] = -(-M[port + P.latest] // TICKS) + M[memory + D.latency]
        return 0
    M[port + P.at] = t + (offered + per_cycle - 1) // per_cycle
    return M[port + P.at]


@helper
def _next_row(M: Memory, port: int, memory: int) -> None:
    """Go on to the next row of the tile: all bursts that its bytes touch."""
    size = M[memory + D.burst_bytes]
    address = M[port + P.row_address]
    M[port + P.next] = address // size
    M[port + P.left] = (address + M[port + P.row_bytes] + size - 1) // size - address // size
    M[port + P.row_address] = address + M[port + P.pitch]
    M[port + P.rows] -= 1


@helper
def _refresh(M: Memory, memory: int, channel: int) -> None:
    """Close all banks of a channel and refresh it, once it is due and the banks allow it."""
    first = channel + CHANNEL.groups + len(GROUP) * M[memory + D.groups]
    last = first + len(BANK) * M[memory + D.banks]
    begin = M[channel + CHANNEL.refresh]
    for bank in range(first, last, len(BANK)):
        if M[bank + BANK.row] != NO_ROW:
            begin = max(begin, M[bank + BANK.close] + M[memory + D.rp])
            M[bank + BANK.row] = NO_ROW
    for bank in range(first, last, len(BANK)):
        M[bank + BANK.activate] = begin + M[memory + D.rfc]
    M[channel + CHANNEL.refresh] += M[memory + D.refi]


@helper
def _scatter(number: int) -> int:
    """Hash of `number`, to spread round addresses over channels and banks."""
    return (number * SCATTER >> 12) & 1023


@helper
def _serve(
    M: Memory, memory: int, burst: int, count: int, write: int, t: int, offered: int, per_cycle: int
) -> int:
    """Serve consecutive bursts that arrive from cycle `t` on; returns the end of their data.

    Parameters
    ----------
    M : int64 array
        The state array.
    memory : int
        Address of the memory.
    burst, count : int
        Number of the first burst, and the number of bursts.
    write : int
        1 for a store.
    t, offered, per_cycle : int
        The cycle, the bursts issued in this step so far, and the bursts issued per cycle.
    """
    # Read once: the compiler can't know that these words of the array do not change.
    rcd, rp, ras = M[memory + D.rcd], M[memory + D.rp], M[memory + D.ras]
    rrd_s, rrd_l, faw = M[memory + D.rrd_s], M[memory + D.rrd_l], M[memory + D.faw]
    same_s, same_l = M[memory + D.ccd_s], M[memory + D.ccd_l]
    if write:
        data = M[memory + D.cwl] + M[memory + D.burst]
        until_close = data + M[memory + D.wr]
        other_s, other_l = data + M[memory + D.wtr_s], data + M[memory + D.wtr_l]
    else:
        data = M[memory + D.cl] + M[memory + D.burst]
        until_close = M[memory + D.rtp]
        other_s = other_l = M[memory + D.rtw]
    interleave, turn, window = M[memory + D.interleave], M[memory + D.turn], M[memory + D.window]
    groups, banks = M[memory + D.groups], M[memory + D.banks]

    arrival = (t + offered // per_cycle) * TICKS
    before_next_cycle = per_cycle - offered % per_cycle
    latest = LONG_AGO
    end = burst + count
    while burst < end:
        piece = burst // interleave
        index = piece // M[memory + D.channels] * interleave + burst - piece * interleave
        block = index // M[memory + D.block]
        row = block // M[memory + D.sets]
        channel = M[memory + D.first] + M[memory + D.channel_size] * (
            (piece + _scatter(block)) % M[memory + D.channels]
        )
        first_bank = (block + _scatter(row)) % M[memory + D.sets] * turn
        first_group = first_bank % groups
        place = index % turn
        bank_records = channel + CHANNEL.groups + len(GROUP) * groups
        activates = bank_records + len(BANK) * banks
        columns = activates + ACTIVATES
        piece_end = min(end, (piece + 1) * interleave)
        while burst < piece_end:
            group = channel + CHANNEL.groups + len(GROUP) * (first_group + place)
            bank = bank_records + len(BANK) * (first_bank + place)
            oldest = M[channel + CHANNEL.oldest_column]
            while True:
                opened = LONG_AGO
                if M[bank + BANK.row] == row:
                    column = M[bank + BANK.opened] + rcd
                else:
                    opened = max(arrival, M[columns + oldest])
                    if M[bank + BANK.row] == NO_ROW:
                        opened = max(opened, M[bank + BANK.activate])
                    else:
                        opened = max(opened, M[bank + BANK.close]) + rp
                    opened = max(
                        opened, M[channel + CHANNEL.next_activate], M[group + GROUP.activate]
                    )
                    opened = max(opened, M[activates + M[channel + CHANNEL.oldest_activate]] + faw)
                    column = opened + rcd
                column = max(
                    column,
                    arrival,
                    M[channel + CHANNEL.next_read + write],
                    M[group + GROUP.next_read + write],
                )
                if column < M[channel + CHANNEL.refresh]:
                    break
                _refresh(M, memory, channel)
            if opened != LONG_AGO:
                M[bank + BANK.row] = row
                M[bank + BANK.opened] = opened
                M[bank + BANK.close] = opened + ras
                M[channel + CHANNEL.next_activate] = opened + rrd_s
                M[group + GROUP.activate] = opened + rrd_l
                oldest_activate = M[channel + CHANNEL.oldest_activate]
                M[activates + oldest_activate] = opened
                M[channel + CHANNEL.oldest_activate] = (oldest_activate + 1) % ACTIVATES
            M[bank + BANK.close] = max(M[bank + BANK.close], column + until_close)
            M[channel + CHANNEL.next_read + write] = column + same_s
            M[channel + CHANNEL.next_write - write] = column + other_s
            M[group + GROUP.next_read + write] = column + same_l
            M[group + GROUP.next_write - write] = column + other_l
            M[columns + oldest] = column
            oldest += 1
            M[channel + CHANNEL.oldest_column] = 0 if oldest == window else oldest
            latest = max(latest, column + data)
            burst += 1
            place += 1
            if place == turn:
                place = 0
            before_next_cycle -= 1
            if before_next_cycle == 0:
                before_next_cycle = per_cycle
                arrival += TICKS
    return latest
