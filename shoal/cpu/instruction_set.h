// The instruction sets that the kernels were compiled for and this machine has.
#pragma once

#include <string_view>
#include <vector>

namespace shoal::cpu {

std::vector<std::string_view> instruction_sets();  // the best, which is in use, first

// Chooses the best one, unless that was done. Until then what Highway gives for a function is one
// that chooses at every call, and asking the CPU takes tens of microseconds in a virtual machine:
// kernels, which keep such pointers, are made after this.
void settle_instruction_set();

// Makes kernels use this one of instruction_sets() instead; with an empty name, the best again.
// For tests and measurements: what was compiled with another one must not run any more, because
// panels are packed to fit its registers.
void use_instruction_set(std::string_view name);

}  // namespace shoal::cpu
