// Whether a channel stalls in a cycle: stepgen/drivers/stalls.py in SystemVerilog.
`ifndef STEPGEN_STALLS_SVH
`define STEPGEN_STALLS_SVH

function automatic logic stepgen_stalled(
    input logic [31:0] key, input logic [31:0] threshold, input logic [31:0] cycle
);
  logic [31:0] x;
  x = key + cycle * 32'h9E3779B1;
  x = (x ^ (x >> 16)) * 32'h85EBCA6B;
  x = (x ^ (x >> 13)) * 32'hC2B2AE35;
  return (x ^ (x >> 16)) < threshold;
endfunction

`endif
