// The instruction sets that the kernels were compiled for and this machine has.
#pragma once

#include <cstdint>
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

// Instructions outside of the sets: single kernels check for them when they are made.
enum class Extension : uint8_t {
  kDotProduct,     // of four bytes in every lane: AVX-512 VNNI, dotprod
  kBytePermute,    // of a whole vector: AVX-512 VBMI
  kMatrixProduct,  // of two rows by two columns of eight bytes: i8mm
  kHalfFloats,     // arithmetic in f16
};
bool has(Extension extension);

// The vendor's names of those that this machine has.
std::vector<std::string_view> extensions();

}  // namespace shoal::cpu
