// A board whose serial port is a pseudo-terminal.
//
//   board +bit_cycles=N [+room=FOLDER]
//
// Prints the name of the terminal on a line, then simulates until its standard input ends. While
// nothing moves on the serial wires and the design does not run, no time passes. A line on standard
// input, put or get, has the memory read or write a file in FOLDER, and is answered with a line; the
// line time is answered with the cycles so far.

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "model.h"
#include "verilated.h"

namespace {

constexpr uint64_t kQuiet = 50000;  // cycles without a change after which time stands still
constexpr uint64_t kRest = 500;     // the same where each frame that came was answered
constexpr int kLook = 256;          // cycles between looks at the terminal
constexpr size_t kAhead = 4096;     // bytes that are taken from the terminal before they are sent

[[noreturn]] void die(const std::string& message) {
    fprintf(stderr, "%s\n", message.c_str());
    exit(2);
}

Signal signal(Vtop& top, const char* name) {
    const Signal s = top.signal(name);
    if (!s.data) die(std::string("the simulation has no port ") + name);
    return s;
}

uint8_t get(const Signal& s) { return *static_cast<uint8_t*>(s.data); }
void set(const Signal& s, uint8_t value) { *static_cast<uint8_t*>(s.data) = value; }

// Counts frames of a direction: bytes with a 0 behind them.
class Frames {
public:
    void see(uint8_t byte) {
        count += !byte && inside_;
        inside_ = byte;
    }

    uint64_t count = 0;

private:
    bool inside_ = false;
};

// The host's end of the wires: 8 data bits, no parity, one stop bit.
class Wires {
public:
    explicit Wires(uint64_t bit) : bit_{bit} {}

    std::deque<uint8_t> to_board, from_board;

    // The level of the wire to the board in this cycle, and what is seen on the other one.
    bool step(bool tx) {
        if (!seen_bits_) {
            if (!tx) seen_bits_ = 10, until_ = bit_ / 2;
        } else if (until_) {
            --until_;
        } else {
            until_ = bit_ - 1;
            --seen_bits_;
            if (seen_bits_ == 9 && tx) {
                seen_bits_ = 0;
            } else if (seen_bits_ == 0) {
                if (tx) from_board.push_back(byte_), answers_.see(byte_);
            } else if (seen_bits_ < 9) {
                byte_ = static_cast<uint8_t>(byte_ >> 1 | tx << 7);
            }
        }
        if (left_) {
            --left_;
        } else if (bits_) {
            left_ = bit_ - 1;
            level_ = shift_ & 1;
            shift_ >>= 1;
            --bits_;
        } else if (!to_board.empty()) {
            shift_ = 0x200u | static_cast<unsigned>(to_board.front()) << 1;
            // What came unasked, such as at power-up, answers nothing.
            answers_.count = std::min(answers_.count, asked_.count);
            asked_.see(to_board.front());
            to_board.pop_front();
            bits_ = 10;
        }
        return level_;
    }

    bool idle() const { return !bits_ && !left_ && !seen_bits_ && to_board.empty(); }

    // Whether the board owes nothing: it does not answer a frame that is damaged.
    bool answered() const { return asked_.count && answers_.count >= asked_.count; }

    void settle() { answers_.count = asked_.count; }

private:
    uint64_t bit_, until_ = 0, left_ = 0;
    Frames asked_, answers_;
    int seen_bits_ = 0, bits_ = 0;
    unsigned shift_ = 0;
    uint8_t byte_ = 0;
    bool level_ = true;
};

}  // namespace

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Verilated::threadContextp(&context);
    const std::string given = context.commandArgsPlusMatch("bit_cycles=");
    if (given.empty()) die("usage: board +bit_cycles=N");
    Wires wires{std::stoull(given.substr(given.find('=') + 1))};

    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) die("no pseudo-terminal is free");
    const std::string name = ptsname(terminal);
    // Kept open, so that the terminal stays when a host leaves.
    const int other = open(name.c_str(), O_RDWR | O_NOCTTY);
    termios raw{};
    if (other < 0 || tcgetattr(other, &raw)) die("cannot open " + name);
    cfmakeraw(&raw);
    tcsetattr(other, TCSANOW, &raw);

    Vtop top{""};
    const Signal clk = signal(top, "clk"), rst = signal(top, "rst"), rx = signal(top, "rx"),
                 tx = signal(top, "tx"), running = signal(top, "running"),
                 put = signal(top, "put"), fetch = signal(top, "get");
    uint64_t quiet = 0;
    int reset = 4;
    printf("%s\n", name.c_str());
    fflush(stdout);
    set(rx, 1);
    set(put, 0);
    set(fetch, 0);
    for (uint64_t cycle = 0;; ++cycle) {
        if (cycle % kLook == 0) {
            if (quiet > kQuiet) wires.settle();
            const bool stands = quiet > (wires.answered() ? kRest : kQuiet);
            pollfd ends[2] = {{terminal, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
            poll(ends, 2, stands ? -1 : 0);
            uint8_t bytes[1024];
            if (ends[1].revents) {
                if (read(STDIN_FILENO, bytes, sizeof bytes) <= 0) break;
                if (bytes[0] == 't') {
                    printf("%llu\n", static_cast<unsigned long long>(cycle));
                    fflush(stdout);
                } else {
                    set(bytes[0] == 'p' ? put : fetch, 1);
                }
            }
            if (ends[0].revents & POLLIN && !reset && wires.to_board.size() < kAhead) {
                const ssize_t n = read(terminal, bytes, sizeof bytes);
                for (ssize_t k = 0; k < n; ++k) wires.to_board.push_back(bytes[k]);
                if (n > 0) quiet = 0;
            }
            while (!wires.from_board.empty()) {
                bytes[0] = wires.from_board.front();
                if (write(terminal, bytes, 1) != 1) break;
                wires.from_board.pop_front();
            }
        }
        set(rst, reset > 0);
        if (reset) --reset;
        set(clk, 0);
        top.eval();
        set(clk, 1);
        top.eval();
        if (get(put) || get(fetch)) {
            set(put, 0);
            set(fetch, 0);
            printf("done\n");
            fflush(stdout);
        }
        set(rx, wires.step(get(tx)));
        quiet = wires.idle() && !get(running) ? quiet + 1 : 0;
    }
    top.final();
    return 0;
}
