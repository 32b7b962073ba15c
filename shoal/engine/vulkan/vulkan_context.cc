// What a driver says is not trusted: texts are cut, numbers that make no sense are refused, so that
// no kernel is made for a device that cannot be.
#include "shoal/engine/vulkan/vulkan_context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "shoal/base/processes/parts.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/gpu/device/device_cache.h"

namespace shoal::vulkan {
namespace {

// Of memory for copies.
constexpr size_t kMostKept = size_t{64} << 20;

constexpr uint32_t kVersion = VK_API_VERSION_1_1;

// The best first.
struct Kind {
  VkPhysicalDeviceType type;
  const char* name;
};
constexpr auto kKinds = std::to_array<Kind>({
    {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, "discrete"},
    {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, "integrated"},
    {VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, "virtual"},
    {VK_PHYSICAL_DEVICE_TYPE_CPU, "cpu"},
    {VK_PHYSICAL_DEVICE_TYPE_OTHER, "other"},
});

size_t rank_of(VkPhysicalDeviceType type) {
  const auto* found = std::ranges::find(kKinds, type, &Kind::type);
  return static_cast<size_t>(std::min(found, kKinds.end() - 1) - kKinds.begin());
}

template <size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return printable(std::string(text, strnlen(text, kSize)), kSize);
}

struct Found {
  VkPhysicalDevice device = nullptr;
  size_t rank = 0;
  uint32_t family = 0;  // of queues that compute
  VulkanDescription description;
};

std::string driver_of(const Api& api, VkPhysicalDevice device,
                      const VkPhysicalDeviceProperties& properties) {
  const std::string version = std::to_string(properties.driverVersion);
  if (properties.apiVersion < VK_API_VERSION_1_2) return version;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &driver;
  api.vkGetPhysicalDeviceProperties2(device, &all);
  const std::string text = text_of(driver.driverName) + " " + text_of(driver.driverInfo);
  return text == " " ? version : text;
}

int64_t memory_of(const Api& api, VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory{};
  api.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  VkDeviceSize most = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(memory.memoryHeapCount, VK_MAX_MEMORY_HEAPS); ++i) {
    const bool is_local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (is_local) most = std::max(most, memory.memoryHeaps[i].size);
  }
  return most < VkDeviceSize{1} << 62 ? static_cast<int64_t>(most) : 0;
}

std::vector<VkQueueFamilyProperties> families_of(const Api& api, VkPhysicalDevice device) {
  constexpr uint32_t kMost = 64;
  uint32_t count = kMost;
  std::vector<VkQueueFamilyProperties> families(kMost);
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  families.resize(std::min(count, kMost));
  return families;
}

// The best first.
Result<std::vector<Found>> find_devices(const Api& api, VkInstance instance) {
  constexpr uint32_t kMostDevices = 64;
  uint32_t count = kMostDevices;
  std::vector<VkPhysicalDevice> devices(kMostDevices);
  const VkResult listed = api.vkEnumeratePhysicalDevices(instance, &count, devices.data());
  if (listed != VK_INCOMPLETE) SHOAL_TRY(status_of(listed, "listing the devices of Vulkan"));
  devices.resize(std::min(count, kMostDevices));
  std::vector<Found> found;
  for (VkPhysicalDevice device : devices) {
    if (device == nullptr) continue;
    VkPhysicalDeviceProperties properties{};
    api.vkGetPhysicalDeviceProperties(device, &properties);
    const auto families = families_of(api, device);
    const auto family = std::ranges::find_if(families, [](const VkQueueFamilyProperties& each) {
      return each.queueCount > 0 && (each.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    });
    if (properties.apiVersion < kVersion || family == families.end()) continue;
    const size_t rank = rank_of(properties.deviceType);
    found.push_back({device,
                     rank,
                     static_cast<uint32_t>(family - families.begin()),
                     {text_of(properties.deviceName), kKinds[rank].name,
                      driver_of(api, device, properties), memory_of(api, device)}});
  }
  if (found.empty()) {
    return part_missing(Part::kVulkan, "no device of this machine computes by Vulkan 1.1",
                        Code::kUnavailable);
  }
  std::ranges::stable_sort(found, {}, &Found::rank);
  return found;
}

Result<VkInstance> make_instance(const Api& api) {
  uint32_t version = 0;
  SHOAL_TRY(status_of(api.vkEnumerateInstanceVersion(&version), "opening Vulkan"));
  if (version < kVersion) {
    return Status(Code::kUnavailable, "the Vulkan of this machine is older than 1.1");
  }
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "shoal";
  application.apiVersion = kVersion;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = nullptr;
  SHOAL_TRY(status_of(api.vkCreateInstance(&info, nullptr, &instance), "opening Vulkan"));
  return instance;
}

Status nonsense(std::string_view what, uint64_t number) {
  return Status(Code::kUnsupported, "the driver says that its " + std::string(what) + " is " +
                                        std::to_string(number) + ", which cannot be");
}

// The fewest and the most that a limit may be. The least is what Vulkan promises, or makes sense.
struct Bound {
  std::string_view what;
  uint64_t value, least, most;
};

Status check(std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value < bound.least || bound.value > bound.most) {
      return nonsense(bound.what, bound.value);
    }
  }
  return {};
}

// Vulkan itself does not tell; some vendors' extensions do, and a driver without one leaves its
// structure alone. What is chosen by it are the tiles of small products.
int64_t compute_units(const Api& api, VkPhysicalDevice device, VkPhysicalDeviceType type) {
  if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) {
    return std::max<int64_t>(1, std::thread::hardware_concurrency());
  }
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{};
  nvidia.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
  VkPhysicalDeviceShaderCorePropertiesAMD amd{};
  amd.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD;
  amd.pNext = &nvidia;
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm{};
  arm.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM;
  arm.pNext = &amd;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &arm;
  api.vkGetPhysicalDeviceProperties2(device, &properties);
  const uint64_t arrays = uint64_t{amd.shaderEngineCount} * amd.shaderArraysPerEngineCount;
  constexpr uint64_t kMost = 4096;  // more is nonsense
  for (const uint64_t units : {uint64_t{nvidia.shaderSMCount}, uint64_t{arm.shaderCoreCount},
                               arrays < kMost ? arrays * amd.computeUnitsPerShaderArray : 0}) {
    if (units > 0 && units <= kMost) return static_cast<int64_t>(units);
  }
  return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 64 : 8;
}

}  // namespace

Context::~Context() {
  for (Staging* staging : {&upload_, &download_}) {
    staging->buffer = {};
    staging->commands.reset();
  }
  spare_.clear();
  known_.pipelines.clear();
  known_.layouts.clear();
  if (device_ != nullptr) api_->vkDestroyDevice(device_, nullptr);
  if (instance_ != nullptr) api_->vkDestroyInstance(instance_, nullptr);
}

Result<std::shared_ptr<const Context>> Context::open(std::shared_ptr<const Api> api,
                                                     const VulkanOptions& options) {
  auto context = std::make_shared<Context>(std::move(api), options);
  SHOAL_TRY(context->choose(options.index));
  context->spare_.limit(context->description_.memory_bytes);
  SHOAL_TRY(context->read_limits());
  SHOAL_TRY(context->read_queue());
  SHOAL_TRY(context->read_memory());
  SHOAL_TRY(context->open_device());
  return std::shared_ptr<const Context>(std::move(context));
}

Status Context::choose(int index) {
  SHOAL_ASSIGN(instance_, make_instance(*api_));
  SHOAL_ASSIGN(const std::vector<Found> found, find_devices(*api_, instance_));
  if (index < 0 || index >= std::ssize(found)) {
    return Status(Code::kUnavailable, "there is no Vulkan device " + std::to_string(index) +
                                          "; the last one is " + std::to_string(found.size() - 1));
  }
  const Found& chosen = found[static_cast<size_t>(index)];
  physical_ = chosen.device;
  family_ = chosen.family;
  description_ = chosen.description;
  return {};
}

Status Context::read_limits() {
  constexpr uint64_t kMost = uint64_t{1} << 40, kMostItems = uint64_t{1} << 20;
  VkPhysicalDeviceProperties properties{};
  api_->vkGetPhysicalDeviceProperties(physical_, &properties);
  const VkPhysicalDeviceLimits& limits = properties.limits;
  SHOAL_TRY(check(std::to_array<Bound>({
      {"largest work-group", limits.maxComputeWorkGroupInvocations, 1, kMostItems},
      {"longest work-group", limits.maxComputeWorkGroupSize[0], 1, kMostItems},
      {"largest grid", limits.maxComputeWorkGroupCount[0], 65'535, UINT32_MAX},
      {"largest grid along axis 1", limits.maxComputeWorkGroupCount[1], 65'535, UINT32_MAX},
      {"largest grid along axis 2", limits.maxComputeWorkGroupCount[2], 65'535, UINT32_MAX},
      {"alignment", limits.minStorageBufferOffsetAlignment, 1, uint64_t{1} << 20},
      {"largest buffer", limits.maxStorageBufferRange, 1024, UINT32_MAX},
      {"local memory", limits.maxComputeSharedMemorySize, 0, kMost},
      {"number of buffers", limits.maxPerStageDescriptorStorageBuffers, 1, UINT32_MAX},
      {"number of buffers of a set", limits.maxDescriptorSetStorageBuffers, 1, UINT32_MAX},
  })));
  if (!std::has_single_bit(limits.minStorageBufferOffsetAlignment)) {
    return nonsense("alignment", limits.minStorageBufferOffsetAlignment);
  }
  // Vectors of four elements are loaded at once.
  alignment_ = std::max<int64_t>(16, static_cast<int64_t>(limits.minStorageBufferOffsetAlignment));
  most_groups_ = limits.maxComputeWorkGroupCount[0];
  const bool is_cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  is_unified_ = is_cpu || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  const bool uses_local = options_.local_memory == GpuLocalMemory::kOn ||
                          (options_.local_memory == GpuLocalMemory::kAuto && !is_cpu);
  capabilities_.max_group_items =
      std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  capabilities_.local_bytes = uses_local ? limits.maxComputeSharedMemorySize : 0;
  capabilities_.compute_units = compute_units(*api_, physical_, properties.deviceType);
  capabilities_.room_bytes =
      gpu::room_bytes(description_.memory_bytes, int64_t{limits.maxStorageBufferRange});
  capabilities_.groups_meet = true;  // by coherent buffers and barriers of the device's scope
  capabilities_.max_argument_bytes = limits.maxStorageBufferRange;
  capabilities_.max_arguments =
      std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
  if (std::isfinite(limits.timestampPeriod) && limits.timestampPeriod > 0) {
    tick_nanoseconds_ = static_cast<double>(limits.timestampPeriod);
  }
  identity_ = description_.name + "\n" + description_.driver + "\n" +
              std::to_string(properties.vendorID) + " " + std::to_string(properties.deviceID) +
              " " + std::to_string(properties.driverVersion) + " ";
  for (const uint8_t byte : properties.pipelineCacheUUID) identity_ += std::to_string(byte) + ".";
  return {};
}

Status Context::read_queue() {
  const auto families = families_of(*api_, physical_);
  if (family_ >= families.size()) return nonsense("number of queue families", families.size());
  const uint32_t bits = families[family_].timestampValidBits;
  if (bits == 0 || bits > 64) tick_nanoseconds_ = 0;
  tick_mask_ = bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  return {};
}

Status Context::read_memory() {
  api_->vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
  if (memory_.memoryTypeCount == 0 || memory_.memoryTypeCount > VK_MAX_MEMORY_TYPES) {
    return nonsense("number of memory types", memory_.memoryTypeCount);
  }
  return {};
}

Status Context::open_device() {
  VkPhysicalDevice16BitStorageFeatures storage{};
  storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &storage;
  api_->vkGetPhysicalDeviceFeatures2(physical_, &features);
  const bool has_half = storage.storageBuffer16BitAccess == VK_TRUE;
  if (options_.precision == GpuPrecision::kF16 && !has_half) {
    return Status(Code::kUnsupported, description_.name + " cannot store f16");
  }
  capabilities_.stores_halves = has_half;
  // Only what is used: others may cost time.
  features.features = {};
  storage.storageBuffer16BitAccess = has_half ? VK_TRUE : VK_FALSE;
  storage.uniformAndStorageBuffer16BitAccess = VK_FALSE;
  storage.storagePushConstant16 = VK_FALSE;
  storage.storageInputOutput16 = VK_FALSE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  SHOAL_TRY(status_of(api_->vkCreateDevice(physical_, &info, nullptr, &device_),
                      "opening " + description_.name));
  api_->vkGetDeviceQueue(device_, family_, 0, &queue_);
  return {};
}

// The first of the wishes that can be had.
Result<uint32_t> Context::memory_type(uint32_t allowed, BufferUse use) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  std::vector<VkMemoryPropertyFlags> wishes;
  if (use == BufferUse::kDevice) {
    if (is_unified_) wishes = {kLocal | kHost | kCached, kLocal | kHost};
    wishes.insert(wishes.end(), {kLocal, 0});
  } else {
    if (use == BufferUse::kDownload) wishes = {kHost | kCached};
    wishes.push_back(kHost);
  }
  for (const VkMemoryPropertyFlags wish : wishes) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      const bool is_allowed = (allowed >> i & 1) != 0;
      if (is_allowed && (memory_.memoryTypes[i].propertyFlags & wish) == wish) return i;
    }
  }
  return Status(Code::kUnsupported,
                description_.name + " has no memory of the kind that is needed");
}

std::filesystem::path Context::tuning_file() const {
  if (options_.programs.empty()) return {};
  const std::array<std::string_view, 1> key{identity_};
  return gpu::program_file(options_.programs, key, ".tuning");
}

Result<Buffer> Context::make_buffer(size_t bytes, BufferUse use, std::string_view what) const {
  constexpr size_t kLeast = 16;  // no buffer is empty
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = (std::max(bytes, kLeast) + 15) / 16 * 16;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  Buffer buffer;
  buffer.bytes = bytes;
  SHOAL_ASSIGN(buffer.buffer, made<BufferHandle>(*api_, device_, &Api::vkCreateBuffer, info, what));
  VkMemoryRequirements needs{};
  api_->vkGetBufferMemoryRequirements(device_, buffer.get(), &needs);
  VkMemoryAllocateInfo memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  memory.allocationSize = needs.size;
  SHOAL_ASSIGN(memory.memoryTypeIndex, memory_type(needs.memoryTypeBits, use));
  SHOAL_ASSIGN(buffer.memory,
               made<MemoryHandle>(*api_, device_, &Api::vkAllocateMemory, memory, what));
  SHOAL_TRY(
      status_of(api_->vkBindBufferMemory(device_, buffer.get(), buffer.memory.get(), 0), what));
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const bool is_mapped =
      (use != BufferUse::kDevice || is_unified_) &&
      (memory_.memoryTypes[memory.memoryTypeIndex].propertyFlags & kHost) == kHost;
  if (!is_mapped) return buffer;
  void* mapped = nullptr;
  SHOAL_TRY(status_of(api_->vkMapMemory(device_, buffer.memory.get(), 0, VK_WHOLE_SIZE, 0, &mapped),
                      what));
  buffer.mapped = static_cast<std::byte*>(mapped);
  return buffer;
}

Result<Buffer> Context::value_buffer(size_t bytes, std::string_view what) const {
  if (auto spare = spare_.take(bytes)) return *std::move(spare);
  return make_buffer(bytes, what);
}

void Context::take_back(size_t bytes, Buffer buffer) const {
  spare_.keep(bytes, std::move(buffer));
}

Result<Buffer> Context::make_constant(const Tensor& tensor, gpu::Storage storage,
                                      std::string_view what) const {
  const Tensor stored = gpu::stored(tensor, storage);
  const int64_t most = capabilities_.max_argument_bytes;
  if (stored.bytes().size() > static_cast<size_t>(most)) {
    return Status(Code::kExhausted, std::string(what) + ": " +
                                        std::to_string(stored.bytes().size()) +
                                        " bytes are more than a kernel of " + description_.name +
                                        " may see of a buffer, " + std::to_string(most));
  }
  SHOAL_ASSIGN(Buffer buffer, value_buffer(stored.bytes().size(), what));
  SHOAL_TRY(write(buffer, stored).at(std::string(what)));
  return buffer;
}

Status Context::through(Staging& staging, BufferUse use, size_t bytes,
                        const std::function<Status(const Buffer&, const Commands&)>& copy) const {
  const std::lock_guard lock(staging.mutex);
  if (!staging.commands) {
    SHOAL_ASSIGN(staging.commands, make_commands());
  }
  if (bytes > staging.buffer.bytes) {
    SHOAL_ASSIGN(Buffer larger, make_buffer(bytes, use, "copies of " + description_.name));
    if (bytes > kMostKept) return copy(larger, *staging.commands);
    staging.buffer = std::move(larger);
  }
  return copy(staging.buffer, *staging.commands);
}

Status Context::write(const Buffer& buffer, const Tensor& tensor) const {
  const size_t bytes = tensor.bytes().size();
  if (bytes == 0) return {};
  if (buffer.mapped != nullptr) {
    std::memcpy(buffer.mapped, tensor.bytes().data(), bytes);
    return {};
  }
  return through(upload_, BufferUse::kUpload, bytes,
                 [&](const Buffer& staging, const Commands& commands) {
                   std::memcpy(staging.mapped, tensor.bytes().data(), bytes);
                   return copy(commands, staging.get(), buffer.get(), bytes);
                 });
}

Status Context::read(const Buffer& buffer, Tensor& tensor) const {
  const size_t bytes = tensor.bytes().size();
  if (bytes == 0) return {};
  if (buffer.mapped != nullptr) {
    std::memcpy(tensor.bytes().data(), buffer.mapped, bytes);
    return {};
  }
  return through(download_, BufferUse::kDownload, bytes,
                 [&](const Buffer& staging, const Commands& commands) -> Status {
                   SHOAL_TRY(copy(commands, buffer.get(), staging.get(), bytes));
                   std::memcpy(tensor.bytes().data(), staging.mapped, bytes);
                   return {};
                 });
}

Status Context::copy(const Commands& commands, VkBuffer from, VkBuffer to, size_t bytes) const {
  SHOAL_TRY(record(commands, [&](VkCommandBuffer buffer) {
    const VkBufferCopy region{0, 0, bytes};
    api_->vkCmdCopyBuffer(buffer, from, to, 1, &region);
  }));
  return run(commands);
}

Result<Commands> Context::make_commands() const {
  const std::string what = "recording commands for " + description_.name;
  Commands commands;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  SHOAL_ASSIGN(commands.pool,
               made<CommandPoolHandle>(*api_, device_, &Api::vkCreateCommandPool, pool, what));
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = commands.pool.get();
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  SHOAL_TRY(status_of(api_->vkAllocateCommandBuffers(device_, &info, &commands.buffer), what));
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  SHOAL_ASSIGN(commands.fence, made<FenceHandle>(*api_, device_, &Api::vkCreateFence, fence, what));
  return commands;
}

Status Context::record(const Commands& commands,
                       const std::function<void(VkCommandBuffer)>& add) const {
  const std::string what = "recording commands for " + description_.name;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  SHOAL_TRY(status_of(api_->vkBeginCommandBuffer(commands.buffer, &begin), what));
  add(commands.buffer);
  // What the commands wrote is for the host.
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  api_->vkCmdPipelineBarrier(commands.buffer,
                             VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                             VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  return status_of(api_->vkEndCommandBuffer(commands.buffer), what);
}

Status Context::run(const Commands& commands) const {
  const std::string what = "running on " + description_.name;
  const VkFence fence = commands.fence.get();
  SHOAL_TRY(status_of(api_->vkResetFences(device_, 1, &fence), what));
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands.buffer;
  {
    const std::scoped_lock lock(mutex_);
    SHOAL_TRY(status_of(api_->vkQueueSubmit(queue_, 1, &info, fence), what));
  }
  return status_of(api_->vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), what);
}

void Context::wait_idle() const {
  const std::scoped_lock lock(mutex_);
  static_cast<void>(api_->vkQueueWaitIdle(queue_));
}

void add_barrier(const Api& api, VkCommandBuffer commands) {
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  api.vkCmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Result<std::vector<VulkanDescription>> describe_devices(const Api& api) {
  SHOAL_ASSIGN(const VkInstance instance, make_instance(api));
  const auto found = find_devices(api, instance);
  api.vkDestroyInstance(instance, nullptr);
  SHOAL_TRY(found.status());
  std::vector<VulkanDescription> all;
  for (const Found& each : *found) all.push_back(each.description);
  return all;
}

}  // namespace shoal::vulkan
