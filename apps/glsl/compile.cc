// The library shoal_glsl.so: glslang behind one function.
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>

#include <memory>
#include <mutex>
#include <string>

#include "shoal/engine/vulkan/compiler.h"

namespace {

using Shader = std::unique_ptr<glslang_shader_t, decltype(&glslang_shader_delete)>;
using Program = std::unique_ptr<glslang_program_t, decltype(&glslang_program_delete)>;

void compile(const char* source, shoal::vulkan::TakeSpirv take, void* to) {
  constexpr int kMessages = GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT;
  static std::once_flag once;
  std::call_once(once, [] { glslang_initialize_process(); });
  glslang_input_t input{};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_1;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_3;
  input.code = source;
  input.default_version = 450;
  input.default_profile = GLSLANG_NO_PROFILE;
  input.messages = static_cast<glslang_messages_t>(kMessages);
  input.resource = glslang_default_resource();
  const Shader shader(glslang_shader_create(&input), &glslang_shader_delete);
  if (shader == nullptr) return take(to, nullptr, 0, "out of memory");
  if (glslang_shader_preprocess(shader.get(), &input) == 0 ||
      glslang_shader_parse(shader.get(), &input) == 0) {
    return take(to, nullptr, 0, glslang_shader_get_info_log(shader.get()));
  }
  const Program program(glslang_program_create(), &glslang_program_delete);
  if (program == nullptr) return take(to, nullptr, 0, "out of memory");
  glslang_program_add_shader(program.get(), shader.get());
  if (glslang_program_link(program.get(), kMessages) == 0) {
    return take(to, nullptr, 0, glslang_program_get_info_log(program.get()));
  }
  glslang_program_SPIRV_generate(program.get(), GLSLANG_STAGE_COMPUTE);
  take(to, glslang_program_SPIRV_get_ptr(program.get()),
       glslang_program_SPIRV_get_size(program.get()), "");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void shoal_compile_glsl_1(
    const char* source, shoal::vulkan::TakeSpirv take, void* to) {
  compile(source, take, to);
}
