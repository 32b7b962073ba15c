// Programs, compiled once for each set of sources, device and driver. What is kept is a list of
// parts, each with its length before it: the shaders in SPIR-V, and what the driver made of them.
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <functional>
#include <optional>

#include "shoal/base/processes/module.h"
#include "shoal/base/text/printable.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/gpu/device/device_cache.h"
#include "shoal/engine/vulkan/compiler.h"
#include "shoal/engine/vulkan/vulkan_executable.h"

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

namespace {

using Bytes = std::vector<std::byte>;

struct Kept {
  std::vector<Spirv> shaders;
  Bytes cache;  // of the driver
};

std::filesystem::path file_of(const Context& context, const std::vector<std::string>& sources) {
  std::vector<std::string_view> key{context.identity()};
  key.insert(key.end(), sources.begin(), sources.end());
  return gpu::program_file(context.programs(), key, ".vkbin");
}

void append(Bytes& to, std::span<const std::byte> part) {
  const uint64_t size = part.size();
  const auto head = std::as_bytes(std::span(&size, 1));
  to.insert(to.end(), head.begin(), head.end());
  to.insert(to.end(), part.begin(), part.end());
}

// The next part; nullopt if the bytes end before it does.
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
  return PipelineHandle({&context.api(), context.device()}, pipeline);
}

// One for all kernels of the device with this number of arguments.
Result<std::shared_ptr<const Layout>> layout_for(const Context& context, size_t arguments) {
  KnownPipelines& known = context.known();
  const std::scoped_lock lock(known.mutex);
  std::shared_ptr<const Layout>& layout = known.layouts[arguments];
  if (layout == nullptr) {
    SHOAL_ASSIGN(Layout made, make_layout(context, arguments));
    layout = std::make_shared<const Layout>(std::move(made));
  }
  return layout;
}

// Calls f(0) ... f(count - 1), many of them on all cores. Fails as the first failing call does.
Status for_each_at_once(size_t count, const std::function<Status(size_t)>& f) {
  constexpr size_t kFew = 8;
  std::vector<Status> statuses(count);
  ThreadPool pool(count < kFew ? 1 : 0);
  pool.parallel_for(static_cast<int64_t>(count), [&](int64_t index, int) {
    statuses[static_cast<size_t>(index)] = f(static_cast<size_t>(index));
  });
  for (const Status& status : statuses) SHOAL_TRY(status);
  return {};
}

Result<std::vector<Spirv>> compiled(const std::vector<std::string>& sources) {
  std::vector<Spirv> shaders(sources.size());
  SHOAL_TRY(for_each_at_once(sources.size(), [&](size_t i) -> Status {
    SHOAL_ASSIGN(shaders[i], compile_glsl(sources[i]));
    return {};
  }));
  return shaders;
}

}  // namespace

Result<Program> build_program(const Context& context, std::span<const gpu::Launch> launches) {
  const gpu::Shaders shaders = gpu::glsl_shaders(launches);
  Program program;
  program.of = shaders.of;
  std::vector<VkPipelineLayout> layouts(shaders.sources.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    const size_t arguments = launches[i].arguments.size();
    SHOAL_ASSIGN(program.layouts[arguments], layout_for(context, arguments));
    layouts[shaders.of[i]] = program.layouts[arguments]->pipeline.get();
  }
  program.pipelines = context.known().pipelines.find(shaders.sources);
  std::vector<size_t> missing;
  for (size_t i = 0; i < program.pipelines.size(); ++i) {
    if (program.pipelines[i] == nullptr) missing.push_back(i);
  }
  if (missing.empty()) return program;
  std::vector<std::string> sources;
  for (size_t i : missing) sources.push_back(shaders.sources[i]);
  const bool is_keeping = !context.programs().empty();
  const std::filesystem::path file = is_keeping ? file_of(context, sources) : "";
  std::optional<Kept> kept = is_keeping ? load(file, sources.size()) : std::nullopt;
  const bool is_new = !kept;
  if (is_new) {
    kept.emplace();
    SHOAL_ASSIGN(kept->shaders, compiled(sources));
  }
  SHOAL_ASSIGN(const PipelineCacheHandle cache, make_cache(context, kept->cache));
  SHOAL_TRY(for_each_at_once(missing.size(), [&](size_t i) -> Status {
    SHOAL_ASSIGN(PipelineHandle made,
                 make_pipeline(context, kept->shaders[i], layouts[missing[i]], cache.get()));
    program.pipelines[missing[i]] = std::make_shared<const PipelineHandle>(std::move(made));
    return {};
  }));
  for (size_t i = 0; i < missing.size(); ++i) {
    context.known().pipelines.add(sources[i], program.pipelines[missing[i]]);
  }
  if (is_keeping && is_new) keep(context, file, kept->shaders, cache.get());
  return program;
}

}  // namespace shoal::vulkan
