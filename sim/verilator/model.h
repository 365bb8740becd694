// The interface of a verilated test bench, the same for all designs.
//
// The class is called Vtop because cocotb's main program asks for that name; it is made by
// templates/glue.cpp.j2.

#ifndef STEPGEN_MODEL_H
#define STEPGEN_MODEL_H

#include <cstddef>
#include <cstdint>
#include <string>

class VerilatedVcdC;

// A port of the top module, as little-endian bytes; unused upper bits stay 0.
struct Signal {
    void* data;
    size_t bytes;
};

class Vtop {
public:
    explicit Vtop(const char* name);
    ~Vtop();
    void eval();
    void eval_step();
    void eval_end_step();
    void final();
    bool eventsPending();
    uint64_t nextTimeSlot();
    void trace(VerilatedVcdC* file, int levels);
    Signal signal(const std::string& name);  // data is null where there is no such port

private:
    struct Model;
    Model* model;
};

#endif
