// What a driver says is not trusted: texts are cut, numbers that make no sense are refused, so that
// no kernel is made for a device that cannot be.
#include "shoal/engine/opencl/opencl_context.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shoal/base/machine/machine.h"
#include "shoal/base/processes/parts.h"
#include "shoal/base/text/printable.h"

namespace shoal::opencl {
namespace {

// More threads do not copy faster than a bus takes it.
constexpr size_t kMostThreads = 4;

int thread_count() { return static_cast<int>(std::min(kMostThreads, usable_cores().size())); }

}  // namespace

Staging::Staging(std::shared_ptr<const Api> api, cl_command_queue queue, size_t piece_bytes)
    : api_(std::move(api)), queue_(queue), piece_bytes_(piece_bytes), threads_(thread_count()) {}

Result<std::unique_ptr<Staging>> Staging::make(std::shared_ptr<const Api> api, cl_context context,
                                               cl_command_queue queue, size_t piece_bytes) {
  std::unique_ptr<Staging> staging(new Staging(std::move(api), queue, piece_bytes));
  const Api& calls = *staging->api_;
  const size_t bytes = kPieces * piece_bytes;
  cl_int error = CL_SUCCESS;
  staging->buffer_ = BufferHandle(
      staging->api_, calls.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                          nullptr, &error));
  SHOAL_TRY(status_of(error, "pinned memory"));
  void* const mapped =
      calls.clEnqueueMapBuffer(queue, staging->buffer_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                               0, bytes, 0, nullptr, nullptr, &error);
  SHOAL_TRY(status_of(error, "pinned memory"));
  staging->pinned_ = static_cast<std::byte*>(mapped);
  return staging;
}

Staging::~Staging() {
  if (pinned_ == nullptr) return;
  // Failures cannot be reported here.
  static_cast<void>(
      api_->clEnqueueUnmapMemObject(queue_, buffer_.get(), pinned_, 0, nullptr, nullptr));
  static_cast<void>(api_->clFinish(queue_));
}

Status Staging::write(cl_mem buffer, std::span<const std::byte> bytes) {
  constexpr int64_t kGrain = 64 << 10;
  const std::scoped_lock lock(mutex_);
  for (size_t at = 0; at < bytes.size(); at += piece_bytes_) {
    const size_t piece = next_++ % kPieces;
    if (const cl_event before = fetched_[piece].get()) {
      SHOAL_TRY(status_of(api_->clWaitForEvents(1, &before), "waiting for pinned memory"));
      fetched_[piece] = {};
    }
    const std::span<const std::byte> from =
        bytes.subspan(at, std::min(piece_bytes_, bytes.size() - at));
    std::byte* const to = pinned_ + piece * piece_bytes_;
    threads_.parallel_ranges(
        static_cast<int64_t>(from.size()), kGrain, [&](int64_t begin, int64_t end) {
          std::memcpy(to + begin, from.data() + begin, static_cast<size_t>(end - begin));
        });
    cl_event fetched = nullptr;
    SHOAL_TRY(status_of(api_->clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, at, from.size(), to, 0,
                                                   nullptr, &fetched),
                        "writing"));
    fetched_[piece] = EventHandle(api_, fetched);
    SHOAL_TRY(status_of(api_->clFlush(queue_), "writing"));
  }
  return {};
}

namespace {

constexpr cl_uint kMostDevices = 64;
constexpr size_t kMostText = 4096;

template <class T>
Result<T> number_of(const Api& api, cl_device_id device, cl_device_info name,
                    std::string_view what) {
  T value{};
  size_t size = 0;
  SHOAL_TRY(status_of(api.clGetDeviceInfo(device, name, sizeof value, &value, &size), what));
  if (size != sizeof value) {
    return Status(Code::kUnsupported, "the driver does not know its " + std::string(what));
  }
  return value;
}

// `get` is called with a buffer for a text and returns its length, including the final zero.
template <class Get>
std::string text_of(Get get) {
  size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(std::min(size, kMostText), '\0');
  if (size > kMostText || get(text.size(), text.data(), &size) != CL_SUCCESS) return "";
  return printable(text.substr(0, text.find('\0')), kMostText);
}

struct Found {
  cl_device_id device = nullptr;
  OpenClDescription description;
};

OpenClDescription describe(const Api& api, cl_platform_id platform, cl_device_id device) {
  const auto device_text = [&](cl_device_info name) {
    return text_of([&](size_t size, char* text, size_t* needed) {
      return api.clGetDeviceInfo(device, name, size, text, needed);
    });
  };
  OpenClDescription description;
  description.name = device_text(CL_DEVICE_NAME);
  description.driver = device_text(CL_DRIVER_VERSION);
  description.platform = text_of([&](size_t size, char* text, size_t* needed) {
    return api.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, text, needed);
  });
  const auto memory = number_of<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE, "memory");
  if (memory.ok() && *memory < cl_ulong{1} << 62) {
    description.memory_bytes = static_cast<int64_t>(*memory);
  }
  return description;
}

Result<std::vector<Found>> find_devices(const Api& api) {
  cl_uint count = 0;
  std::vector<cl_platform_id> platforms(kMostDevices);
  const Status listed = status_of(api.clGetPlatformIDs(kMostDevices, platforms.data(), &count),
                                  "listing the platforms of OpenCL");
  if (listed.code() == Code::kUnavailable) {
    return part_missing(Part::kOpenCl, listed.message(), Code::kUnavailable);
  }
  SHOAL_TRY(listed);
  platforms.resize(std::min(count, kMostDevices));
  std::vector<Found> found;
  for (cl_platform_id platform : platforms) {
    std::vector<cl_device_id> devices(kMostDevices);
    if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, kMostDevices, devices.data(), &count) !=
        CL_SUCCESS) {
      continue;  // a platform without devices
    }
    devices.resize(std::min(count, kMostDevices));
    for (cl_device_id device : devices) {
      if (device != nullptr) found.push_back({device, describe(api, platform, device)});
    }
  }
  if (found.empty()) {
    return part_missing(Part::kOpenCl, "OpenCL has no devices here", Code::kUnavailable);
  }
  return found;
}

Status nonsense(std::string_view what, uint64_t number) {
  return Status(Code::kUnsupported, "the driver says that its " + std::string(what) + " is " +
                                        std::to_string(number) + ", which cannot be");
}

// NVIDIA's compiler takes PTX; the extension that tells the generation is its own. 0: another
// one's.
cl_uint nvidia_generation(const Context& context) {
  constexpr cl_device_info kComputeCapabilityMajor = 0x4000;
  constexpr std::string_view kExtension = "cl_nv_device_attribute_query";
  const std::string extensions = text_of([&](size_t size, char* text, size_t* needed) {
    return context.api->clGetDeviceInfo(context.device, CL_DEVICE_EXTENSIONS, size, text, needed);
  });
  if (extensions.find(kExtension) == extensions.npos) return 0;
  const auto major = number_of<cl_uint>(*context.api, context.device, kComputeCapabilityMajor,
                                        "compute capability");
  return major.ok() ? *major : 0;
}

gpu::MatrixUnits matrix_units(const OpenClOptions& options, cl_uint nvidia) {
  constexpr cl_uint kFirst = 8;
  if (options.matrix_units == OpenClMatrixUnits::kOff) return gpu::MatrixUnits::kNone;
  if (nvidia >= kFirst) return gpu::MatrixUnits::kNvidia;
  return options.matrix_units == OpenClMatrixUnits::kOn ? gpu::MatrixUnits::kEmulated
                                                        : gpu::MatrixUnits::kNone;
}

Status read_capabilities(const OpenClOptions& options, Context& context) {
  const auto number = [&]<class T>(T, cl_device_info name, std::string_view what) {
    return number_of<T>(*context.api, context.device, name, what);
  };
  SHOAL_ASSIGN(const cl_bool available, number(cl_bool{}, CL_DEVICE_AVAILABLE, "availability"));
  SHOAL_ASSIGN(const cl_bool compiles, number(cl_bool{}, CL_DEVICE_COMPILER_AVAILABLE, "compiler"));
  if (available == CL_FALSE) return Status(Code::kUnavailable, "the device is not available");
  if (compiles == CL_FALSE) return Status(Code::kUnsupported, "the device has no compiler");
  SHOAL_ASSIGN(const size_t items,
               number(size_t{}, CL_DEVICE_MAX_WORK_GROUP_SIZE, "largest work-group"));
  if (items == 0 || items > size_t{1} << 20) return nonsense("largest work-group", items);
  SHOAL_ASSIGN(const cl_uint align, number(cl_uint{}, CL_DEVICE_MEM_BASE_ADDR_ALIGN, "alignment"));
  if (align < 8 || align > cl_uint{1} << 24 || !std::has_single_bit(align)) {
    return nonsense("alignment in bits", align);
  }
  SHOAL_ASSIGN(const cl_ulong largest,
               number(cl_ulong{}, CL_DEVICE_MAX_MEM_ALLOC_SIZE, "largest buffer"));
  if (largest < 1024 || largest > cl_ulong{1} << 62) return nonsense("largest buffer", largest);
  SHOAL_ASSIGN(const cl_ulong local, number(cl_ulong{}, CL_DEVICE_LOCAL_MEM_SIZE, "local memory"));
  if (local > cl_ulong{1} << 40) return nonsense("local memory", local);
  SHOAL_ASSIGN(const cl_device_local_mem_type kind,
               number(cl_device_local_mem_type{}, CL_DEVICE_LOCAL_MEM_TYPE, "local memory"));
  SHOAL_ASSIGN(const cl_uint units,
               number(cl_uint{}, CL_DEVICE_MAX_COMPUTE_UNITS, "number of compute units"));
  if (units == 0 || units > cl_uint{1} << 20) return nonsense("number of compute units", units);
  SHOAL_ASSIGN(const cl_bool unified,
               number(cl_bool{}, CL_DEVICE_HOST_UNIFIED_MEMORY, "unified memory"));
  SHOAL_ASSIGN(const cl_device_type type, number(cl_device_type{}, CL_DEVICE_TYPE, "type"));
  const cl_uint nvidia = nvidia_generation(context);
  const bool uses_local = options.local_memory == OpenClLocalMemory::kOn ||
                          (options.local_memory == OpenClLocalMemory::kAuto && kind == CL_LOCAL);
  context.capabilities = {.max_group_items = static_cast<int64_t>(items),
                          .local_bytes = uses_local ? static_cast<int64_t>(local) : 0,
                          .compute_units = static_cast<int64_t>(units),
                          .room_bytes = gpu::room_bytes(context.description.memory_bytes,
                                                        static_cast<int64_t>(largest)),
                          .matrix_units = matrix_units(options, nvidia),
                          .groups_meet = nvidia > 0 || (type & CL_DEVICE_TYPE_CPU) != 0};
  context.alignment = static_cast<int64_t>(align) / 8;
  context.largest_buffer = static_cast<int64_t>(largest);
  context.has_own_memory = unified == CL_FALSE && (type & CL_DEVICE_TYPE_GPU) != 0;
  return {};
}

}  // namespace

Result<std::vector<OpenClDescription>> describe_devices(const Api& api) {
  SHOAL_ASSIGN(const std::vector<Found> found, find_devices(api));
  std::vector<OpenClDescription> all;
  for (const Found& each : found) all.push_back(each.description);
  return all;
}

Result<std::shared_ptr<const Context>> open_context(std::shared_ptr<const Api> api,
                                                    const OpenClOptions& options) {
  SHOAL_ASSIGN(const std::vector<Found> found, find_devices(*api));
  if (options.index < 0 || options.index >= std::ssize(found)) {
    return Status(Code::kUnavailable, "there is no OpenCL device " + std::to_string(options.index) +
                                          "; the last one is " + std::to_string(found.size() - 1));
  }
  const Found& chosen = found[static_cast<size_t>(options.index)];
  auto context = std::make_shared<Context>();
  context->api = api;
  context->device = chosen.device;
  context->description = chosen.description;
  context->spare.limit(chosen.description.memory_bytes);
  context->programs = options.programs;
  context->tunes = options.tune;
  context->precision = options.precision;
  context->f32_layers = options.f32_layers;
  SHOAL_TRY(read_capabilities(options, *context));
  cl_int error = CL_SUCCESS;
  context->context = ContextHandle(
      api, api->clCreateContext(nullptr, 1, &context->device, nullptr, nullptr, &error));
  SHOAL_TRY(status_of(error, "opening " + chosen.description.name));
  const auto make_queue = [&](cl_command_queue_properties properties) {
    return QueueHandle(api, api->clCreateCommandQueue(context->context.get(), context->device,
                                                      properties, &error));
  };
  context->queue = make_queue(0);
  SHOAL_TRY(status_of(error, "opening a queue of " + chosen.description.name));
  context->profiling_queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  SHOAL_TRY(status_of(error, "opening a queue of " + chosen.description.name));
  if (context->has_own_memory) {
    constexpr size_t kPiece = size_t{1} << 20;
    auto staging = Staging::make(api, context->context.get(), context->queue.get(), kPiece);
    if (staging.ok()) context->staging = *std::move(staging);
  }
  return std::shared_ptr<const Context>(std::move(context));
}

Result<BufferHandle> Context::make_buffer(size_t bytes, std::string_view what) const {
  if (bytes > static_cast<size_t>(largest_buffer)) {
    return Status(Code::kExhausted, std::string(what) + ": " + std::to_string(bytes) +
                                        " bytes are more than a buffer of " + description.name +
                                        " may have, " + std::to_string(largest_buffer));
  }
  constexpr size_t kLeast = 16;  // no buffer is empty
  cl_int error = CL_SUCCESS;
  BufferHandle buffer(api, api->clCreateBuffer(context.get(), CL_MEM_READ_WRITE,
                                               std::max(bytes, kLeast), nullptr, &error));
  SHOAL_TRY(status_of(error, what));
  return buffer;
}

Result<BufferHandle> Context::value_buffer(size_t bytes, std::string_view what) const {
  if (auto buffer = spare.take(bytes)) return *std::move(buffer);
  return make_buffer(bytes, what);
}

Result<BufferHandle> Context::make_constant(const Tensor& tensor, gpu::Storage storage,
                                            std::string_view what) const {
  const Tensor stored = gpu::stored(tensor, storage);
  SHOAL_ASSIGN(BufferHandle buffer, value_buffer(stored.bytes().size(), what));
  SHOAL_TRY(write(buffer.get(), stored).at(std::string(what)));
  return buffer;
}

Status Context::write(cl_mem buffer, const Tensor& tensor) const {
  SHOAL_TRY(begin_write(buffer, tensor));
  return status_of(api->clFinish(queue.get()), "writing to " + description.name);
}

Status Context::begin_write(cl_mem buffer, const Tensor& tensor) const {
  if (tensor.bytes().empty()) return {};
  constexpr size_t kLarge = size_t{256} << 10;
  if (staging && tensor.bytes().size() >= kLarge) {
    return staging->write(buffer, tensor.bytes());
  }
  return status_of(
      api->clEnqueueWriteBuffer(queue.get(), buffer, CL_FALSE, 0, tensor.bytes().size(),
                                tensor.bytes().data(), 0, nullptr, nullptr),
      "writing to " + description.name);
}

Status Context::read(cl_mem buffer, Tensor& tensor) const {
  if (tensor.bytes().empty()) return {};
  return status_of(api->clEnqueueReadBuffer(queue.get(), buffer, CL_TRUE, 0, tensor.bytes().size(),
                                            tensor.bytes().data(), 0, nullptr, nullptr),
                   "reading from " + description.name);
}

Status Context::finish() const {
  SHOAL_TRY(status_of(api->clFinish(queue.get()), "waiting for " + description.name));
  return status_of(api->clFinish(profiling_queue.get()), "waiting for " + description.name);
}

}  // namespace shoal::opencl
