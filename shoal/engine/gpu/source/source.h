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

// Names of a storage type: the suffix of the macros that load and store it, its type in both
// languages, and that of four in GLSL (never used for bf16).
struct StorageText {
  std::string_view name, opencl, glsl, glsl_four;
};
const StorageText& text_of(Storage storage);

// Numbers as text. Floats keep their value, infinities and NaN included.
std::string text_of(int64_t number);
std::string text_of(float number);

// Replaces every $name of the template. REQUIRES: `values` has all of its names.
std::string filled(std::string_view text, const std::map<std::string, std::string>& values);

// The place in a buffer of element `index` (the name of an int) of a tensor of this shape, walked
// by these strides: "first + (i / 12 % 5) * 3". Contiguous axes are joined.
std::string offset_text(const Shape& shape, const ops::Strides& strides, std::string_view index,
                        int64_t first = 0);

// A launch of one item per element: the body sees its number as `i`.
Launch for_each_element(int64_t count, std::vector<Argument> arguments, std::string body,
                        const Capabilities& device);

// A kernel in OpenCL C, split at its name.
struct KernelText {
  std::string before, after;
};

KernelText opencl_text(const Launch& launch);

// A program of these kernels, and the name of the kernel at an index.
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

// Whether an int holds every position of the window, and its taps, padding included, are few enough
// for a loop: a model may have a window of a billion.
bool is_small(const ops::Window& window);

// Kernels as compute shaders in GLSL 4.5, for Vulkan.

// The shaders of a graph. Launches whose kernels are equal share one.
//
// Argument i of a launch is the storage buffer at binding i of set 0. A shader has one push
// constant, an int: the first group along axis 0, so that a grid may be launched in parts if a
// device limits that axis. f16 needs storageBuffer16BitAccess of the device.
struct Shaders {
  std::vector<std::string> sources;
  std::vector<size_t> of;  // by launch
};

Shaders glsl_shaders(std::span<const Launch> launches);

}  // namespace shoal::gpu
