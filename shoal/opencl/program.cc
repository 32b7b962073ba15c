// Programs, compiled once for each source, device and driver.
#include <array>

#include "shoal/base/printable.h"
#include "shoal/gpu/program_file.h"
#include "shoal/opencl/context.h"

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

// The program of a file, or nothing.
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

Result<ProgramHandle> Context::build(const std::string& source) const {
  if (!programs.empty()) {
    if (ProgramHandle kept = load(*this, file_of(*this, source)); kept.get() != nullptr) {
      return kept;
    }
  }
  const char* text = source.c_str();
  const size_t length = source.size();
  cl_int error = CL_SUCCESS;
  ProgramHandle program(api,
                        api->clCreateProgramWithSource(context.get(), 1, &text, &length, &error));
  SHOAL_TRY(status_of(error, "compiling for " + description.name));
  SHOAL_TRY(opencl::build(*this, program.get()));
  return program;
}

void Context::keep(const std::string& source, cl_program program) const {
  constexpr size_t kMost = size_t{1} << 28;
  if (programs.empty()) return;
  size_t size = 0;
  if (api->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
          CL_SUCCESS ||
      size == 0 || size > kMost) {
    return;
  }
  std::vector<unsigned char> binary(size);
  unsigned char* bytes = binary.data();
  if (api->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) !=
      CL_SUCCESS) {
    return;
  }
  gpu::keep_program(file_of(*this, source), std::as_bytes(std::span(binary)));
}

}  // namespace shoal::opencl
