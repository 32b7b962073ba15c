// Programs, compiled once for each set of sources, device and driver. What is kept is a list of
// parts, each with its length before it: the shaders in SPIR-V, and what the driver made of them.
#include "shoal/vulkan/program.h"

#include <array>
#include <cstring>
#include <optional>

#include "shoal/gpu/program_file.h"
#include "shoal/vulkan/compiler.h"

namespace shoal::vulkan {
namespace {

using Bytes = std::vector<std::byte>;

struct Kept {
  std::vector<Spirv> shaders;
  Bytes cache;  // of the driver
};

std::filesystem::path file_of(const Context& context, const gpu::Shaders& shaders) {
  std::vector<std::string_view> key{context.identity()};
  key.insert(key.end(), shaders.sources.begin(), shaders.sources.end());
  return gpu::program_file(context.programs(), key, ".vkbin");
}

void append(Bytes& to, std::span<const std::byte> part) {
  const uint64_t size = part.size();
  const auto head = std::as_bytes(std::span(&size, 1));
  to.insert(to.end(), head.begin(), head.end());
  to.insert(to.end(), part.begin(), part.end());
}

// The next part; nothing where the bytes end before it does.
std::optional<std::span<const std::byte>> next_part(std::span<const std::byte>& bytes) {
  uint64_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes = bytes.subspan(sizeof size);
  if (size > bytes.size()) return std::nullopt;
  const auto part = bytes.first(size);
  bytes = bytes.subspan(size);
  return part;
}

std::optional<Kept> load(const std::filesystem::path& file, size_t shaders) {
  const Bytes program = gpu::load_program(file);
  std::span<const std::byte> rest = program;
  Kept kept;
  for (size_t i = 0; i < shaders; ++i) {
    const auto part = next_part(rest);
    if (!part || part->empty() || part->size() % sizeof(uint32_t) != 0) return std::nullopt;
    Spirv spirv(part->size() / sizeof(uint32_t));
    std::memcpy(spirv.data(), part->data(), part->size());
    kept.shaders.push_back(std::move(spirv));
  }
  const auto cache = next_part(rest);
  if (!cache || !rest.empty()) return std::nullopt;
  kept.cache.assign(cache->begin(), cache->end());
  return kept;
}

Result<PipelineCacheHandle> make_cache(const Context& context, const Bytes& initial) {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = initial.size();
  info.pInitialData = initial.data();
  return made<PipelineCacheHandle>(context.api(), context.device(), &Api::vkCreatePipelineCache,
                                   info, "compiling for " + context.description().name);
}

void keep(const Context& context, const std::filesystem::path& file, std::span<const Spirv> shaders,
          VkPipelineCache cache) {
  constexpr size_t kMost = size_t{1} << 28;
  size_t size = 0;
  Bytes data;
  if (context.api().vkGetPipelineCacheData(context.device(), cache, &size, nullptr) == VK_SUCCESS &&
      size <= kMost) {
    data.resize(size);
    if (context.api().vkGetPipelineCacheData(context.device(), cache, &size, data.data()) !=
        VK_SUCCESS) {
      size = 0;
    }
    data.resize(std::min(size, data.size()));
  }
  Bytes program;
  for (const Spirv& spirv : shaders) append(program, std::as_bytes(std::span(spirv)));
  append(program, data);
  gpu::keep_program(file, program);
}

Result<Layout> make_layout(const Context& context, size_t arguments) {
  const std::string what = "compiling for " + context.description().name;
  std::vector<VkDescriptorSetLayoutBinding> bindings(arguments);
  for (size_t i = 0; i < arguments; ++i) {
    bindings[i] = {static_cast<uint32_t>(i), VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                   VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  Layout layout;
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(arguments);
  set.pBindings = bindings.data();
  SHOAL_ASSIGN(layout.set, made<SetLayoutHandle>(context.api(), context.device(),
                                                 &Api::vkCreateDescriptorSetLayout, set, what));
  const VkDescriptorSetLayout set_layout = layout.set.get();
  const VkPushConstantRange first_group{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(int32_t)};
  VkPipelineLayoutCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &set_layout;
  pipeline.pushConstantRangeCount = 1;
  pipeline.pPushConstantRanges = &first_group;
  SHOAL_ASSIGN(layout.pipeline,
               made<PipelineLayoutHandle>(context.api(), context.device(),
                                          &Api::vkCreatePipelineLayout, pipeline, what));
  return layout;
}

Result<PipelineHandle> make_pipeline(const Context& context, const Spirv& spirv,
                                     VkPipelineLayout layout, VkPipelineCache cache) {
  const std::string what = "compiling for " + context.description().name;
  VkShaderModuleCreateInfo shader{};
  shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  shader.codeSize = spirv.size() * sizeof(uint32_t);
  shader.pCode = spirv.data();
  SHOAL_ASSIGN(const ShaderHandle module,
               made<ShaderHandle>(context.api(), context.device(), &Api::vkCreateShaderModule,
                                  shader, what));
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = "main";
  info.layout = layout;
  VkPipeline pipeline{};
  SHOAL_TRY(status_of(
      context.api().vkCreateComputePipelines(context.device(), cache, 1, &info, nullptr, &pipeline),
      what));
  return PipelineHandle(context.api(), context.device(), pipeline);
}

}  // namespace

Result<Program> build_program(const Context& context, std::span<const gpu::Launch> launches) {
  const gpu::Shaders shaders = gpu::glsl_shaders(launches);
  const bool is_keeping = !context.programs().empty();
  const std::filesystem::path file = is_keeping ? file_of(context, shaders) : "";
  std::optional<Kept> kept = is_keeping ? load(file, shaders.sources.size()) : std::nullopt;
  const bool is_new = !kept;
  if (is_new) {
    kept.emplace();
    for (const std::string& source : shaders.sources) {
      SHOAL_ASSIGN(Spirv spirv, compile_glsl(source));
      kept->shaders.push_back(std::move(spirv));
    }
  }
  SHOAL_ASSIGN(const PipelineCacheHandle cache, make_cache(context, kept->cache));
  Program program;
  program.of = shaders.of;
  program.pipelines.resize(shaders.sources.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    const size_t arguments = launches[i].arguments.size();
    PipelineHandle& pipeline = program.pipelines[program.of[i]];
    if (!program.layouts.contains(arguments)) {
      SHOAL_ASSIGN(program.layouts[arguments], make_layout(context, arguments));
    }
    if (pipeline.get() != VkPipeline{}) continue;
    SHOAL_ASSIGN(pipeline, make_pipeline(context, kept->shaders[program.of[i]],
                                         program.layouts[arguments].pipeline.get(), cache.get()));
  }
  if (is_keeping && is_new) keep(context, file, kept->shaders, cache.get());
  return program;
}

}  // namespace shoal::vulkan
