// Devices for C.
#include <chrono>

#include "handles.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::c {
namespace {

// Integers and times of C may have any value: they are checked before they become others.
Result<DeviceOptions> device_options(const shoal_device_options& options) {
  constexpr double kLongest = 1e6;  // seconds
  if (options.threads < 0 || options.threads > 1024) return invalid("threads are 0 to 1024");
  if (options.tune < SHOAL_TUNE_OFF || options.tune > SHOAL_TUNE_FULL) {
    return invalid(std::to_string(options.tune) + " is no way to tune");
  }
  if (options.verify < 0) return invalid("verify is 0 or more");
  if (!(options.timeout_seconds >= 0 && options.timeout_seconds <= kLongest)) {
    return invalid("timeout_seconds is 0 to a million");
  }
  DeviceOptions read{.cpu = {.threads = options.threads,
                             .tune = static_cast<Tune>(options.tune),
                             .memory = options.low_memory != 0 ? Memory::kLow : Memory::kPlenty,
                             .remember = options.tune != SHOAL_TUNE_OFF},
                     .throughput = options.throughput != 0,
                     .survive = options.survive,
                     .verify = static_cast<uint64_t>(options.verify)};
  if (options.timeout_seconds > 0) {
    read.timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(options.timeout_seconds));
  }
  return read;
}

// Registers what C programs cannot register themselves. Once for the process.
void register_devices() {
  static const bool once = (register_cluster(), true);
  static_cast<void>(once);
}

Status open_device(const char* name, const shoal_device_options* given, shoal_device** out) {
  SHOAL_TRY(require(name, "name"));
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(const auto options,
               read_options<shoal_device_options>(given, SHOAL_DEVICE_OPTIONS_INIT));
  SHOAL_ASSIGN(const DeviceOptions read, device_options(options));
  register_devices();
  SHOAL_ASSIGN(std::shared_ptr<Device> device, make_device(name, read));
  *out = new shoal_device{std::move(device)};
  return {};
}

// Kept for ever, since C programs are given pointers into it.
const std::vector<std::string>& device_list() {
  static const auto* const names = [] {
    register_devices();
    auto* const list = new std::vector<std::string>;
    for (const DeviceKind& kind : device_kinds()) list->push_back(kind.name);
    return list;
  }();
  return *names;
}

}  // namespace

std::shared_ptr<Device> device_or_cpu(const shoal_device* device) {
  return device != nullptr ? device->device : std::shared_ptr<Device>(make_cpu_device());
}

}  // namespace shoal::c

const char* shoal_device_list(size_t index) try {
  return index < shoal::c::device_list().size() ? shoal::c::device_list()[index].c_str() : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

shoal_status* shoal_device_open(const char* name, const shoal_device_options* options,
                                shoal_device** out) {
  return shoal::c::guarded([&] { return shoal::c::open_device(name, options, out); });
}

const char* shoal_device_name(const shoal_device* device) {
  return device == nullptr ? nullptr : device->device->info().name.c_str();
}

void shoal_device_free(shoal_device* device) { delete device; }
