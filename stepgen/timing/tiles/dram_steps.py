"""How DRAM serves the bursts of tiles: records in the flat array, and the functions that step them.

Each channel serves its bursts strictly in order of arrival: their column commands, and their
activates, go in that order. While a burst waits its row may be opened already, if fewer than
`WINDOW` bursts of the channel are before it. So the commands of a burst follow from those before
it, and a burst costs a few comparisons. What is not modelled: conflicts on the command bus, and
controllers that change the order of requests.

Times are in ticks, `TICKS` to a cycle, so that a clock of the memory need not be a whole cycle.
"""

from __future__ import annotations

import numba as nb

from .simple import AT, DONE, LEFT, MODEL, RATE

KIND_DRAM = 1
TICKS = 16
"""Parts of a cycle in which times are kept."""
CHUNK = 16
"""Bursts taken at once, over several cycles from a port that offers fewer in a cycle."""
ACTIVATES = 4
"""Activates allowed in a window of tFAW."""
SCATTER = 0x9E3779B1
LONG_AGO = -(1 << 60)
NO_ROW = -1

# Record of the memory; the first word is the kind of model, as in the simple one
KIND, CHANNELS, FIRST, CHANNEL_SIZE, BURST_BYTES, BURSTS, LATENCY = range(7)
INTERLEAVE, TURN, BLOCK, SETS, GROUPS, BANKS, WINDOW = range(7, 14)
TIMES = 14
TIMES_KEPT = (
    *("burst", "cl", "cwl", "rcd", "rp", "ras", "ccd_s", "ccd_l", "rrd_s", "rrd_l", "faw"),
    *("wr", "rtp", "wtr_s", "wtr_l", "rtw", "refi", "rfc"),
)
"""Timings in the order in which they follow each other in the record."""
(BURST, CL, CWL, RCD, RP, RAS, CCD_S, CCD_L, RRD_S, RRD_L, FAW) = range(TIMES, TIMES + 11)
(WR, RTP, WTR_S, WTR_L, RTW, REFI, RFC) = range(TIMES + 11, TIMES + len(TIMES_KEPT))

# Record of a port, behind the words that it shares with the simple model
NEXT, ROWS, ROW_ADDRESS, ROW_BYTES, PITCH, WRITE, LATEST = range(5, 12)
PORT_SIZE = 12

# Record of a channel: earliest next column command of each kind, next activate, next refresh, and
# where in the two rings the oldest entry lies
NEXT_READ, NEXT_WRITE, NEXT_ACTIVATE, REFRESH, OLDEST_ACTIVATE, OLDEST_COLUMN = range(6)
# then per bank group the earliest next read, write and activate, then per bank its open row, when
# that was activated, when it may be closed and when the next one may be activated, then the rings
GROUP_RECORDS = 6
GROUP_ACTIVATE = 2
GROUP_SIZE = 3
ROW, OPENED, CLOSE, ACTIVATE = range(4)
BANK_SIZE = 4


@nb.njit
def start(M, port, t, address, rows, row_bytes, pitch, write):  # type: ignore[no-untyped-def]
    """Begin in cycle `t` to transfer a tile.

    Parameters
    ----------
    M : int64 array
        The machine.
    port : int
        Address of the port.
    t : int
        This cycle.
    address : int
        Byte address of the first row.
    rows, row_bytes : int
        Size of the tile.
    pitch : int
        Bytes from one row to the next; rows that touch make one piece.
    write : int
        1 for a store.
    """
    if pitch == row_bytes:
        row_bytes *= rows
        rows = min(rows, 1)
    M[port + LEFT] = 0
    M[port + AT] = t
    M[port + ROWS] = rows if row_bytes else 0
    M[port + ROW_ADDRESS] = address
    M[port + ROW_BYTES] = row_bytes
    M[port + PITCH] = pitch
    M[port + WRITE] = write
    M[port + LATEST] = t * TICKS


@nb.njit
def advance(M, port, t):  # type: ignore[no-untyped-def]
    """Go on with the tile in cycle `t`; returns 0 when all is offered, else when to look again.

    ``M[port + DONE]`` is then the cycle in which the last answer is there.
    """
    if t < M[port + AT]:
        return M[port + AT]
    memory = M[port + MODEL]
    per_cycle = M[port + RATE] * M[memory + BURSTS]
    most = max(CHUNK // per_cycle, 1) * per_cycle
    offered = 0
    while offered < most:
        if M[port + LEFT] == 0:
            if M[port + ROWS] == 0:
                break
            _next_row(M, port, memory)
        count = min(M[port + LEFT], most - offered)
        latest = _serve(M, memory, M[port + NEXT], count, M[port + WRITE], t, offered, per_cycle)
        M[port + LATEST] = max(M[port + LATEST], latest)
        M[port + NEXT] += count
        M[port + LEFT] -= count
        offered += count
    if offered == 0:
        M[port + DONE] = -(-M[port + LATEST] // TICKS) + M[memory + LATENCY]
        return 0
    M[port + AT] = t + (offered + per_cycle - 1) // per_cycle
    return M[port + AT]


@nb.njit
def _next_row(M, port, memory):  # type: ignore[no-untyped-def]
    """Turn to the next row of the tile: all bursts that its bytes touch."""
    size = M[memory + BURST_BYTES]
    address = M[port + ROW_ADDRESS]
    M[port + NEXT] = address // size
    M[port + LEFT] = (address + M[port + ROW_BYTES] + size - 1) // size - address // size
    M[port + ROW_ADDRESS] = address + M[port + PITCH]
    M[port + ROWS] -= 1


@nb.njit
def _refresh(M, memory, channel):  # type: ignore[no-untyped-def]
    """Close all banks of a channel and refresh it, as soon as the banks allow once it is due."""
    first = channel + GROUP_RECORDS + GROUP_SIZE * M[memory + GROUPS]
    last = first + BANK_SIZE * M[memory + BANKS]
    begin = M[channel + REFRESH]
    for bank in range(first, last, BANK_SIZE):
        if M[bank + ROW] != NO_ROW:
            begin = max(begin, M[bank + CLOSE] + M[memory + RP])
            M[bank + ROW] = NO_ROW
    for bank in range(first, last, BANK_SIZE):
        M[bank + ACTIVATE] = begin + M[memory + RFC]
    M[channel + REFRESH] += M[memory + REFI]


@nb.njit(inline="always")
def _scatter(number):  # type: ignore[no-untyped-def]
    """A number that looks unlike `number`, so that round addresses do not all meet in one place."""
    return (number * SCATTER >> 12) & 1023


@nb.njit
def _serve(M, memory, burst, count, write, t, offered, per_cycle):  # type: ignore[no-untyped-def]
    """Serve consecutive bursts that arrive from cycle `t` on; returns the end of their data.

    Parameters
    ----------
    M : int64 array
        The machine.
    memory : int
        Address of the memory.
    burst, count : int
        Number of the first burst, and how many there are.
    write : int
        1 for a store.
    t, offered, per_cycle : int
        The cycle, bursts offered since, and how many of them come in a cycle.
    """
    # What a burst needs over and over, read once: the array cannot be known not to change.
    rcd, rp, ras = M[memory + RCD], M[memory + RP], M[memory + RAS]
    rrd_s, rrd_l, faw = M[memory + RRD_S], M[memory + RRD_L], M[memory + FAW]
    same_s, same_l = M[memory + CCD_S], M[memory + CCD_L]
    if write:
        data = M[memory + CWL] + M[memory + BURST]
        until_close = data + M[memory + WR]
        other_s, other_l = data + M[memory + WTR_S], data + M[memory + WTR_L]
    else:
        data = M[memory + CL] + M[memory + BURST]
        until_close = M[memory + RTP]
        other_s = other_l = M[memory + RTW]
    interleave, turn, window = M[memory + INTERLEAVE], M[memory + TURN], M[memory + WINDOW]
    groups, banks = M[memory + GROUPS], M[memory + BANKS]

    arrival = (t + offered // per_cycle) * TICKS
    before_next_cycle = per_cycle - offered % per_cycle
    latest = LONG_AGO
    end = burst + count
    while burst < end:
        piece = burst // interleave
        index = piece // M[memory + CHANNELS] * interleave + burst - piece * interleave
        block = index // M[memory + BLOCK]
        row = block // M[memory + SETS]
        channel = M[memory + FIRST] + M[memory + CHANNEL_SIZE] * (
            (piece + _scatter(block)) % M[memory + CHANNELS]
        )
        first_bank = (block + _scatter(row)) % M[memory + SETS] * turn
        first_group = first_bank % groups
        place = index % turn
        bank_records = channel + GROUP_RECORDS + GROUP_SIZE * groups
        activates = bank_records + BANK_SIZE * banks
        columns = activates + ACTIVATES
        piece_end = min(end, (piece + 1) * interleave)
        while burst < piece_end:
            group = channel + GROUP_RECORDS + GROUP_SIZE * (first_group + place)
            bank = bank_records + BANK_SIZE * (first_bank + place)
            oldest = M[channel + OLDEST_COLUMN]
            while True:
                opened = LONG_AGO
                if M[bank + ROW] == row:
                    column = M[bank + OPENED] + rcd
                else:
                    opened = max(arrival, M[columns + oldest])
                    if M[bank + ROW] == NO_ROW:
                        opened = max(opened, M[bank + ACTIVATE])
                    else:
                        opened = max(opened, M[bank + CLOSE]) + rp
                    opened = max(opened, M[channel + NEXT_ACTIVATE], M[group + GROUP_ACTIVATE])
                    opened = max(opened, M[activates + M[channel + OLDEST_ACTIVATE]] + faw)
                    column = opened + rcd
                column = max(
                    column, arrival, M[channel + NEXT_READ + write], M[group + NEXT_READ + write]
                )
                if column < M[channel + REFRESH]:
                    break
                _refresh(M, memory, channel)
            if opened != LONG_AGO:
                M[bank + ROW] = row
                M[bank + OPENED] = opened
                M[bank + CLOSE] = opened + ras
                M[channel + NEXT_ACTIVATE] = opened + rrd_s
                M[group + GROUP_ACTIVATE] = opened + rrd_l
                oldest_activate = M[channel + OLDEST_ACTIVATE]
                M[activates + oldest_activate] = opened
                M[channel + OLDEST_ACTIVATE] = (oldest_activate + 1) % ACTIVATES
            M[bank + CLOSE] = max(M[bank + CLOSE], column + until_close)
            M[channel + NEXT_READ + write] = column + same_s
            M[channel + NEXT_WRITE - write] = column + other_s
            M[group + NEXT_READ + write] = column + same_l
            M[group + NEXT_WRITE - write] = column + other_l
            M[columns + oldest] = column
            oldest += 1
            M[channel + OLDEST_COLUMN] = 0 if oldest == window else oldest
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
