// Kernels as text.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/engine/gpu/work.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::gpu {

// How an element is stored, in words: the end of the macros that load and store it, its type in
// both languages, and that of four of them in GLSL. Nobody loads four of bf16.
struct StorageText {
  std::string_view name, opencl, glsl, glsl_four;
};
const StorageText& text_of(Storage storage);

// The text of numbers. A float keeps its value, infinities and NaN included.
std::string text_of(int64_t number);
std::string text_of(float number);

// The template with every $name replaced. REQUIRES: `values` has all names in it.
std::string filled(std::string_view text, const std::map<std::string, std::string>& values);

// The place in a buffer of element `index` (the name of an int) of a tensor of this shape, walked
// by these strides: "first + (i / 12 % 5) * 3". Axes that are walked as one become one.
std::string offset_text(const Shape& shape, const ops::Strides& strides, std::string_view index,
                        int64_t first = 0);

// A launch of one item per element: the body sees its number as `i`.
Launch for_each_element(int64_t count, std::vector<Argument> arguments, std::string body,
                        const Capabilities& device);

// A kernel in OpenCL C, but for its name, which is between the two.
struct KernelText {
  std::string before, after;
};

KernelText opencl_text(const Launch& launch);

// A program of these kernels, and the name of a kernel in it by its place.
std::string opencl_program(std::span<const KernelText> kernels);
std::string kernel_name(size_t place);

}  // namespace shoal::gpu
