#include "shoal/engine/vulkan/compiler.h"

#include <dlfcn.h>

#include "shoal/base/processes/module.h"
#include "shoal/base/processes/parts.h"
#include "shoal/base/text/printable.h"

namespace shoal::vulkan {
namespace {

Result<CompileGlsl*> load() {
  const std::string file = "shoal_glsl.so", what = "kernels for Vulkan cannot be compiled: ";
  const Result<void*> library = open_module(file);
  if (!library.ok()) {
    return part_missing(Part::kVulkan, what + std::string(library.status().message()));
  }
  auto* compile = reinterpret_cast<CompileGlsl*>(::dlsym(*library, kCompileGlsl));
  if (compile == nullptr) return Status(Code::kUnsupported, what + file + " is of another version");
  return compile;
}

}  // namespace

Result<Spirv> compile_glsl(const std::string& source) {
  constexpr size_t kShown = 2000;
  static const Result<CompileGlsl*> opened = load();
  SHOAL_ASSIGN(CompileGlsl * compile, opened);
  struct Answer {
    Spirv spirv;
    std::string message;
  } answer;
  compile(
      source.c_str(),
      [](void* to, const uint32_t* words, size_t count, const char* message) {
        auto& of = *static_cast<Answer*>(to);
        of.spirv.assign(words, words + count);
        of.message = message;
      },
      &answer);
  if (answer.spirv.empty()) {
    return Status(Code::kInternal,
                  "a program does not compile: " + printable(answer.message, kShown));
  }
  return std::move(answer.spirv);
}

}  // namespace shoal::vulkan
