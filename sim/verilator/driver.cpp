// Runs the cases of a run folder without Python: the fast way for long runs.
//
//   driver +folder=RUN [+first=N] [+cases=N] [+vcd=FILE [+vcd_from=CYCLE]]
//
// Reads <RUN>/<case>/case.txt and the files it names, writes the results beside it (the layout is
// in docs/run-folder.md) and prints one line of JSON per case. Exit code 0 when every case came
// to its end, 3 when one did not.
//
// STEPGEN_DONE is the kind of the beat that ends a stream, in STEPGEN_KIND_MASK; the compiler is
// given both.
//
// A design must not use payloads that are not valid: those of idle streams and buses are drawn anew
// in every cycle, from +verilator+seed+N.

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model.h"
#include "registers.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

constexpr uint64_t kStartLimit = 1000;  // cycles of waiting, beside one per channel
constexpr uint64_t kDrain = 64;  // cycles after a run of a unit without control, to find surplus beats

[[noreturn]] void die(const std::string& message) {
    fprintf(stderr, "%s\n", message.c_str());
    exit(2);
}

// stepgen/drivers/stalls.py
bool stalled(uint32_t key, uint32_t threshold, uint64_t cycle) {
    uint32_t x = key + static_cast<uint32_t>(cycle) * 0x9E3779B1u;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return (x ^ (x >> 16)) < threshold;
}

uint64_t get(const Signal& s) {
    uint64_t value = 0;
    memcpy(&value, s.data, s.bytes < 8 ? s.bytes : 8);
    return value;
}

void set(const Signal& s, uint64_t value) { memcpy(s.data, &value, s.bytes < 8 ? s.bytes : 8); }

std::vector<uint8_t> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) die("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const void* data, size_t size) {
    std::ofstream out(path, std::ios::binary);
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!out) die("cannot write " + path);
}

struct Port {
    std::string name;
    Signal valid, ready, payload;
    size_t bits = 0, bytes = 0;
    uint32_t key = 0, threshold = 0;
    uint64_t late = 0;  // stalled in all cycles before
    std::vector<uint8_t> beats;  // to be sent, or received
    size_t moved = 0;            // beats taken so far
    size_t expected = 0;         // of a sink
    bool raw = false, ended = false, offered = false;
    bool early = false;  // a source that offers its beats repeatedly, independent of runs

    bool stalls(uint64_t cycle) const { return cycle < late || stalled(key, threshold, cycle); }

    void rewind() {
        moved = 0;
        ended = raw && expected == 0;
        offered = false;
    }
};

class Bench {
public:
    Bench(VerilatedContext* context, const std::string& vcd, uint64_t vcd_from)
        : context_{context}, top_{""}, vcd_from_{vcd_from},
          random_{static_cast<uint64_t>(context->randSeed())} {
        for (const char* name : {"clk", "rst", "load", "dump", "case_number", "running", "cycle",
                                 "done", "error"})
            signal(name);
        // Inputs, too, hold drawn values at first.
        for (const char* name : {"clk", "load", "dump", "go", "judge", "csr_awvalid", "csr_wvalid",
                                 "csr_bready", "csr_arvalid", "csr_rready"})
            if (const Signal s = top_.signal(name); s.data) set(s, 0);
        clk_ = signal("clk");
        running_ = signal("running");
        cycle_ = signal("cycle");
#if VM_TRACE
        if (!vcd.empty()) {
            context->traceEverOn(true);
            trace_ = std::make_unique<VerilatedVcdC>();
            top_.trace(trace_.get(), 99);
            trace_->open(vcd.c_str());
        }
#else
        if (!vcd.empty()) die("this simulation was built without waveforms");
#endif
    }

    ~Bench() {
        top_.final();
#if VM_TRACE
        if (trace_) trace_->close();
#endif
    }

    bool run(const std::string& folder, unsigned number);

private:
    VerilatedContext* context_;
    Vtop top_;
    uint64_t vcd_from_;  // the cycle of the run with which the waveform begins
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
#endif
    std::mt19937_64 random_;
    Signal clk_, running_, cycle_;
    // null in a design without control registers
    Signal csr_awaddr_ = top_.signal("csr_awaddr"), csr_awvalid_ = top_.signal("csr_awvalid"),
           csr_wdata_ = top_.signal("csr_wdata"), csr_wstrb_ = top_.signal("csr_wstrb"),
           csr_wvalid_ = top_.signal("csr_wvalid"), csr_araddr_ = top_.signal("csr_araddr"),
           csr_arvalid_ = top_.signal("csr_arvalid");
    std::vector<Port> sources_, sinks_;
    bool control_ = true, refused_earlier_ = false;
    uint64_t limit_ = 0, channels_ = 0;
    std::vector<uint64_t> aborts_;

    Signal signal(const std::string& name) {
        const Signal s = top_.signal(name);
        if (!s.data) die("the simulation has no port " + name);
        return s;
    }

    void half(uint8_t clk) {
        set(clk_, clk);
        top_.eval();
        context_->timeInc(1);
#if VM_TRACE
        if (trace_ && (!vcd_from_ || get(cycle_) >= vcd_from_)) trace_->dump(context_->time());
#endif
    }

    void junk(const Signal& s, size_t bits) {
        uint8_t* to = static_cast<uint8_t*>(s.data);
        for (; bits >= 8; bits -= 8) *to++ = static_cast<uint8_t>(random_());
        if (bits) *to = static_cast<uint8_t>(random_() & ((1u << bits) - 1));
    }

    void read_case(const std::string& path);
    void drive(bool running, uint64_t cycle);
    void sample();
    void step();
    void load();
    const char* play(uint64_t limit);
    void soft_reset();
    void refusing(bool now);
    void write_register(uint32_t address, uint32_t value);
    uint32_t read_register(uint32_t address);
    bool sinks_ended() const;
};

void Bench::read_case(const std::string& folder) {
    std::ifstream in(folder + "/case.txt");
    if (!in) die("cannot read " + folder + "/case.txt");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string key, name;
        words >> key;
        if (key == "limit") words >> limit_;
        else if (key == "control") words >> control_;
        else if (key == "channels") words >> channels_;
        else if (key == "aborts") {
            for (uint64_t cycle; words >> cycle;) aborts_.push_back(cycle);
        }
        else if (key == "refused_earlier") words >> refused_earlier_;
        else if (key == "set") {
            std::string hex;  // most significant digit first
            words >> name >> hex;
            const Signal s = signal(name);
            memset(s.data, 0, s.bytes);
            for (size_t i = 0; i < hex.size() && i / 2 < s.bytes; ++i) {
                const int digit = std::stoi(std::string(1, hex[hex.size() - 1 - i]), nullptr, 16);
                static_cast<uint8_t*>(s.data)[i / 2] |= static_cast<uint8_t>(digit << 4 * (i % 2));
            }
        } else if (key == "source" || key == "sink") {
            Port p;
            std::string wires;
            words >> p.name >> wires >> p.bits >> p.key >> p.threshold >> p.expected >> p.raw >> p.early >> p.late;
            p.bytes = (p.bits + 7) / 8;
            p.rewind();
            p.valid = signal(wires + "_valid");
            p.ready = signal(wires + "_ready");
            p.payload = signal(wires + "_payload");
            if (key == "source") p.beats = read_file(folder + "/in_" + p.name + ".bin");
            (key == "source" ? sources_ : sinks_).push_back(std::move(p));
        } else if (!key.empty()) {
            die(folder + "/case.txt: unknown line: " + line);
        }
    }
}

// Drives the ports in a cycle; called when the cycle's registers are settled.
void Bench::drive(bool running, uint64_t cycle) {
    for (Port& p : sources_) {
        const size_t count = p.beats.size() / p.bytes;
        const bool some = p.early ? count != 0 : running && p.moved < count;
        if (!some) p.offered = false;
        else if (!p.offered && !(running && p.stalls(cycle))) {
            p.offered = true;
            memcpy(p.payload.data, p.beats.data() + p.moved % count * p.bytes, p.bytes);
        }
        set(p.valid, p.offered);
        if (!p.offered) junk(p.payload, p.bits);
    }
    for (Port& p : sinks_) set(p.ready, running && !p.stalls(cycle));
    if (!csr_awvalid_.data) return;
    if (!get(csr_awvalid_)) junk(csr_awaddr_, STEPGEN_MIN_ADDRESS_BITS);
    if (!get(csr_wvalid_)) {
        junk(csr_wdata_, 32);
        junk(csr_wstrb_, 4);
    }
    if (!get(csr_arvalid_)) junk(csr_araddr_, STEPGEN_MIN_ADDRESS_BITS);
}

// Collects the transfers at the end of the cycle; called when everything is settled.
void Bench::sample() {
    for (Port& p : sources_)
        if (p.offered && get(p.ready)) {
            p.offered = false;
            ++p.moved;
        }
    for (Port& p : sinks_)
        if (get(p.ready) && get(p.valid)) {
            const uint8_t* data = static_cast<const uint8_t*>(p.payload.data);
            p.beats.insert(p.beats.end(), data, data + p.bytes);
            ++p.moved;
            const bool done = (data[0] & STEPGEN_KIND_MASK) == STEPGEN_DONE;
            if (p.raw ? p.moved >= p.expected : done) p.ended = true;
        }
}

void Bench::step() {
    drive(get(running_), get(cycle_));
    half(0);
    sample();
    half(1);
}

void Bench::write_register(uint32_t address, uint32_t value) {
    const Signal awready = signal("csr_awready"), wready = signal("csr_wready");
    const Signal bvalid = signal("csr_bvalid"), bready = signal("csr_bready");
    set(csr_awaddr_, address);
    set(csr_wdata_, value);
    set(csr_wstrb_, 15);
    set(csr_awvalid_, 1);
    set(csr_wvalid_, 1);
    set(bready, 1);
    for (uint64_t n = 0;; ++n) {
        if (n > kStartLimit + channels_) die("the control registers did not answer a write");
        drive(get(running_), get(cycle_));
        half(0);
        sample();
        const bool aw = get(csr_awvalid_) && get(awready), w = get(csr_wvalid_) && get(wready);
        const bool b = get(bvalid);
        half(1);
        if (aw) set(csr_awvalid_, 0);
        if (w) set(csr_wvalid_, 0);
        if (b) break;
    }
    set(bready, 0);
}

uint32_t Bench::read_register(uint32_t address) {
    const Signal arready = signal("csr_arready");
    const Signal rvalid = signal("csr_rvalid"), rdata = signal("csr_rdata");
    const Signal rready = signal("csr_rready");
    set(csr_araddr_, address);
    set(csr_arvalid_, 1);
    set(rready, 1);
    for (uint64_t n = 0;; ++n) {
        if (n > kStartLimit + channels_) die("the control registers did not answer a read");
        drive(get(running_), get(cycle_));
        half(0);
        sample();
        const bool ar = get(csr_arvalid_) && get(arready), r = get(rvalid);
        const uint32_t value = static_cast<uint32_t>(get(rdata));
        half(1);
        if (ar) set(csr_arvalid_, 0);
        if (r) {
            set(rready, 0);
            return value;
        }
    }
}

bool Bench::sinks_ended() const {
    for (const Port& p : sinks_)
        if (!p.ended) return false;
    return !sinks_.empty();
}

// Before a run: loads the memory image and rewinds the streams.
void Bench::load() {
    for (Port& p : sources_) p.rewind();
    for (Port& p : sinks_) {
        p.rewind();
        p.beats.clear();
    }
    const Signal load = signal("load");
    set(load, 1);
    step();
    set(load, 0);
}

// Starts a run and steps it to its end, or to cycle `limit`; returns the outcome.
const char* Bench::play(uint64_t limit) {
    const Signal done = signal("done");
    if (control_) write_register(STEPGEN_CONTROL, STEPGEN_CONTROL_START);
    else {
        set(signal("go"), 1);
        step();
        set(signal("go"), 0);
    }
    for (uint64_t waited = 0; !get(running_); step())
        if (++waited > kStartLimit + channels_) return "not started";
    while (control_ ? !get(done) : !sinks_ended()) {
        if (get(cycle_) >= limit) return "hang";
        step();
    }
    return "done";
}

// Aborts a run; then the design is as after a reset, and no burst is in flight.
void Bench::soft_reset() {
    write_register(STEPGEN_CONTROL, STEPGEN_CONTROL_SOFT_RESET);
    constexpr uint32_t kBusy = STEPGEN_STATUS_RUNNING | STEPGEN_STATUS_STOPPING;
    for (uint64_t n = 0; read_register(STEPGEN_STATUS) & kBusy; ++n)
        if (n > limit_) die("a soft reset did not come to its end");
}

// Whether the memory of the next run answers with the errors of the case.
void Bench::refusing(bool now) {
    if (const Signal s = top_.signal("refusing"); s.data) set(s, now);
}

bool Bench::run(const std::string& run_folder, unsigned number) {
    const std::string folder = run_folder + "/" + std::to_string(number);
    const Signal rst = signal("rst"), dump = signal("dump"), error = signal("error");
    set(signal("case_number"), number);

    sources_.clear();  // the case before may still be running
    sinks_.clear();
    aborts_.clear();
    set(rst, 1);
    for (int i = 0; i < 2; ++i) step();
    read_case(folder);
    load();
    step();
    set(rst, 0);
    step();

    refusing(refused_earlier_);
    for (const uint64_t cycle : aborts_) {
        if (strcmp(play(cycle), "done") != 0) soft_reset();
        load();
    }
    refusing(!refused_earlier_);
    const auto begin = std::chrono::steady_clock::now();
    const char* status = play(limit_);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const uint64_t cycles = get(cycle_);
    if (!control_)
        for (uint64_t i = 0; i < kDrain; ++i) step();

    std::vector<uint32_t> registers;
    if (control_) {
        constexpr uint32_t kWord = sizeof(uint32_t);
        for (uint32_t address = STEPGEN_STATUS; address < STEPGEN_END; address += kWord)
            registers.push_back(read_register(address));
        for (uint32_t c = 0; c < channels_; ++c)
            for (uint32_t k = 0; k < STEPGEN_CHANNEL_COUNTERS; ++k)
                registers.push_back(read_register(
                    STEPGEN_CHANNEL_BASE + STEPGEN_CHANNEL_STRIDE * c + kWord * k));
    }
    set(dump, 1);
    step();
    set(dump, 0);
    step();
    write_file(folder + "/registers.bin", registers.data(), registers.size() * sizeof(uint32_t));
    for (const Port& p : sinks_)
        write_file(folder + "/out_" + p.name + ".bin", p.beats.data(), p.beats.size());
    char line[160];
    snprintf(line, sizeof line,
             "{\"case\": %u, \"status\": \"%s\", \"cycles\": %" PRIu64
             ", \"bus_error\": %s, \"seconds\": %.6f}\n",
             number, status, cycles, get(error) ? "true" : "false", seconds.count());
    write_file(folder + "/result.json", line, strlen(line));
    fputs(line, stdout);
    fflush(stdout);
    return strcmp(status, "done") == 0;
}

std::string plusarg(int argc, char** argv, const std::string& name, const std::string& otherwise) {
    const std::string start = "+" + name + "=";
    for (int i = 1; i < argc; ++i)
        if (std::string(argv[i]).rfind(start, 0) == 0) return argv[i] + start.size();
    return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
    Verilated::commandArgs(argc, argv);
    Bench bench{Verilated::threadContextp(), plusarg(argc, argv, "vcd", ""),
                std::stoull(plusarg(argc, argv, "vcd_from", "0"))};
    const std::string folder = plusarg(argc, argv, "folder", ".");
    const unsigned first = static_cast<unsigned>(std::stoul(plusarg(argc, argv, "first", "0")));
    const unsigned cases = static_cast<unsigned>(std::stoul(plusarg(argc, argv, "cases", "1")));
    bool good = true;
    for (unsigned i = first; i < first + cases; ++i) good = bench.run(folder, i) && good;
    return good ? 0 : 3;
}
