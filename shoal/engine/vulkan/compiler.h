// GLSL to SPIR-V, by glslang, which is large and therefore in a separate library (apps/glsl),
// opened when a kernel is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::vulkan {

using Spirv = std::vector<uint32_t>;

// Compiles a compute shader. Fails with kUnsupported if there is no shoal_glsl.so, and with
// kInternal and the compiler's message if the source does not compile. Thread-safe.
Result<Spirv> compile_glsl(const std::string& source);

// The function of the library: returns the words, or none and a message.
using TakeSpirv = void (*)(void* to, const uint32_t* words, size_t count, const char* message);
using CompileGlsl = void(const char* source, TakeSpirv take, void* to);
inline constexpr const char* kCompileGlsl = "shoal_compile_glsl_1";

}  // namespace shoal::vulkan
