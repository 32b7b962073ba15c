// The instruction sets that the kernels were compiled for and this machine has.
#pragma once

#include <string_view>
#include <vector>

namespace shoal::cpu {

// Best first. The first one is in use.
std::vector<std::string_view> instruction_sets();

// Settles dynamic dispatch on the best instruction set; later calls do nothing. Before this, a
// pointer taken from Highway's dispatch table leads to a function that detects the CPU at every
// call, which takes tens of microseconds in a virtual machine. Kernels keep such pointers, so this
// comes before the first kernel is made. Not thread-safe against use_instruction_set().
void settle_instruction_set();

// Makes kernels use one of instruction_sets(), or the best again if `name` is empty. For tests and
// benchmarks. Not thread-safe, and executables compiled under another instruction set must not run
// afterwards: panels are packed for the width and number of its registers.
void use_instruction_set(std::string_view name);

}  // namespace shoal::cpu
