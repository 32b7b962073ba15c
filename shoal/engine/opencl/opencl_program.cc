// Programs, compiled once for each source, device and driver.
#include <algorithm>
#include <array>

#include "shoal/base/machine/machine.h"
#include "shoal/base/text/printable.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/gpu/device/device_cache.h"
#include "shoal/engine/opencl/opencl_context.h"

namespace shoal::opencl {
namespace {

constexpr std::string_view kOptions = "-cl-std=CL1.2 -cl-mad-enable";

std::filesystem::path file_of(const Context& context, const std::string& source) {
  const OpenClDescription& device = context.description;
  const std::array<std::string_view, 5> key{device.platform, device.name, device.driver, kOptions,
                                            source};
  return gpu::program_file(context.programs, key, ".clbin");
}

std::string build_log(const Context& context, cl_program program) {
  constexpr size_t kMost = size_t{1} << 20, kShown = 2000;
  size_t size = 0;
  if (context.api->clGetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                         &size) != CL_SUCCESS ||
      size == 0 || size > kMost) {
    return "";
  }
  std::string log(size, '\0');
  if (context.api->clGetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, size,
                                         log.data(), nullptr) != CL_SUCCESS) {
    return "";
  }
  return ": " + printable(log.substr(0, log.find('\0')), kShown);
}

Status build(const Context& context, cl_program program) {
  const cl_int error = context.api->clBuildProgram(program, 1, &context.device,
                                                   std::string(kOptions).c_str(), nullptr, nullptr);
  const Status status = status_of(error, "compiling for " + context.description.name);
  if (status.ok()) return {};
  return Status(status.code(), std::string(status.message()) + build_log(context, program));
}

// The program of a file; null if there is none.
ProgramHandle load(const Context& context, const std::filesystem::path& path) {
  const std::vector<std::byte> binary = gpu::load_program(path);
  if (binary.empty()) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  ProgramHandle program(
      context.api, context.api->clCreateProgramWithBinary(context.context.get(), 1, &context.device,
                                                          &size, &bytes, &status, &error));
  if (error != CL_SUCCESS || status != CL_SUCCESS) return {};
  return build(context, program.get()).ok() ? std::move(program) : ProgramHandle();
}

}  // namespace

std::filesystem::path Context::tuning_file() const {
  if (programs.empty()) return {};
  const std::array<std::string_view, 3> key{description.platform, description.name,
                                            description.driver};
  return gpu::program_file(programs, key, ".tuning");
}

Result<std::shared_ptr<Program>> Context::build(std::string source) const {
  auto program = std::make_shared<Program>();
  program->source = std::move(source);
  if (!programs.empty()) {
    program->handle = load(*this, file_of(*this, program->source));
    program->is_kept = program->handle.get() != nullptr;
    if (program->is_kept) return program;
  }
  const char* text = program->source.c_str();
  const size_t length = program->source.size();
  cl_int error = CL_SUCCESS;
  program->handle =
      ProgramHandle(api, api->clCreateProgramWithSource(context.get(), 1, &text, &length, &error));
  SHOAL_TRY(status_of(error, "compiling for " + description.name));
  SHOAL_TRY(opencl::build(*this, program->handle.get()));
  return program;
}

void Context::keep(Program& program) const {
  constexpr size_t kMost = size_t{1} << 28;
  if (programs.empty() || program.is_kept.exchange(true)) return;
  const cl_program handle = program.handle.get();
  size_t size = 0;
  if (api->clGetProgramInfo(handle, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
          CL_SUCCESS ||
      size == 0 || size > kMost) {
    return;
  }
  std::vector<unsigned char> binary(size);
  unsigned char* bytes = binary.data();
  if (api->clGetProgramInfo(handle, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) !=
      CL_SUCCESS) {
    return;
  }
  gpu::keep_program(file_of(*this, program.source), std::as_bytes(std::span(binary)));
}

// Compilers take one program at a time and seconds for the kernels of a large graph: these are cut
// into as many programs as there are cores.
Result<std::vector<Kernel>> Context::kernels_of(std::span<const gpu::Launch> launches) const {
  constexpr size_t kFewest = 8;  // kernels of a program: each has the prelude, and a file
  std::vector<gpu::KernelText> texts;
  std::vector<std::string> keys;
  for (const gpu::Launch& launch : launches) {
    texts.push_back(gpu::opencl_text(launch));
    keys.push_back(texts.back().before + texts.back().after);
  }
  std::vector<Kernel> kernels = known.find(keys);
  std::unordered_map<std::string_view, size_t> places;  // among those that are compiled
  std::vector<gpu::KernelText> missing;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].program != nullptr || !places.emplace(keys[i], missing.size()).second) continue;
    missing.push_back(texts[i]);
  }
  if (missing.empty()) return kernels;

  const size_t cores = usable_cores().size();
  const size_t count = std::clamp<size_t>(missing.size() / kFewest, 1, cores);
  const auto first_of = [&](size_t program) { return missing.size() * program / count; };
  std::vector<Result<std::shared_ptr<Program>>> built(count, Status(Code::kInternal, "not built"));
  ThreadPool pool(static_cast<int>(count));
  pool.parallel_for(static_cast<int64_t>(count), [&](int64_t index, int) {
    const auto p = static_cast<size_t>(index);
    built[p] = build(gpu::opencl_program(
        std::span(missing).subspan(first_of(p), first_of(p + 1) - first_of(p))));
  });
  for (const auto& program : built) SHOAL_TRY(program.status());
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].program != nullptr) continue;
    const size_t place = places.at(keys[i]);
    size_t p = 0;
    while (place >= first_of(p + 1)) ++p;
    kernels[i] = {*built[p], gpu::kernel_name(place - first_of(p))};
    known.add(keys[i], kernels[i]);
  }
  return kernels;
}

}  // namespace shoal::opencl
