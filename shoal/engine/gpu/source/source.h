// Kernels as text, in OpenCL C and in GLSL.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/engine/gpu/work.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/window.h"

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

// Element-wise functions in the language of kernels.

// Whether kernels have this function of one element, or of two.
bool is_unary(const Operator* op);
bool is_binary(const Operator* op);

// The value of a function as an expression. REQUIRES: kernels have it. An activation without an
// operator is x itself.
std::string call(const ops::Activation& function, const std::string& x);
std::string call(const Operator* op, const std::string& a, const std::string& b);

// The definitions of the functions that a text calls.
std::string definitions_for(const std::string& text);

// Windows (model/ops/window.h) as numbers of a kernel's source.

// in_d, in_h, in_w, out_*, kernel_*, stride_*, dilation_*, pad_*, full_* of depth (d), rows
// (h) and columns (w); `full` is the input with its padding.
std::map<std::string, std::string> numbers_of(const ops::Window& window);

// Whether an int holds every position of the window, and an item may walk all taps, padding
// included: a model may ask for a window of a billion.
bool is_small(const ops::Window& window);

// Kernels as compute shaders in GLSL 4.5, for Vulkan.

// The shaders of a graph. Launches whose kernels are equal share one.
//
// Argument i of a launch is the storage buffer at binding i of set 0. A shader has one push
// constant, an int: the first group along axis 0, so that a grid may be launched in parts where a
// device limits that axis. f16 needs storageBuffer16BitAccess of the device.
struct Shaders {
  std::vector<std::string> sources;
  std::vector<size_t> of;  // by launch
};

Shaders glsl_shaders(std::span<const Launch> launches);

}  // namespace shoal::gpu
