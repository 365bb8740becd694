// Writes which channels moved in which cycle; read by stepgen/cosim/record.py.
//
// The file is a sequence of 32-bit words in the host's byte order (little-endian on all hosts so
// far). A word with bit 31 set advances the time by its other bits; any other word is an event in
// that cycle: 2 * channel for a push, 2 * channel + 1 for a pop.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "svdpi.h"

namespace {

constexpr uint32_t kAdvance = 0x80000000u;
constexpr size_t kBuffered = 1 << 16;  // words

FILE* file = nullptr;
int64_t last = 0;
std::vector<uint32_t> buffer;

inline void put(uint32_t word) { buffer.push_back(word); }

void flush() {
    if (fwrite(buffer.data(), sizeof(uint32_t), buffer.size(), file) != buffer.size()) {
        fprintf(stderr, "cannot write the record: is the disk full?\n");
        exit(2);
    }
    buffer.clear();
}

inline void put_events(int words, const svBitVecVal* bits, uint32_t pop) {
    for (int i = 0; i < words; ++i)
        for (uint32_t rest = bits[i]; rest; rest &= rest - 1)
            put((static_cast<uint32_t>(32 * i + __builtin_ctz(rest)) << 1) | pop);
}

}  // namespace

extern "C" {

void stepgen_record_close() {
    if (!file) return;
    flush();
    fclose(file);
    file = nullptr;
}

void stepgen_record_open(const char* path) {
    stepgen_record_close();
    last = 0;
    file = fopen(path, "wb");
    if (!file) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

void stepgen_record(long long cycle, int words, const svBitVecVal* push, const svBitVecVal* pop) {
    if (!file) return;
    if (last > cycle) last = 0;
    for (; cycle - last >= kAdvance; last += kAdvance - 1) put(kAdvance | (kAdvance - 1));
    put(kAdvance | static_cast<uint32_t>(cycle - last));
    last = cycle;
    put_events(words, push, 0);
    put_events(words, pop, 1);
    if (buffer.size() > kBuffered) flush();
}

}  // extern "C"
