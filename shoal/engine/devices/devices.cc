#include "shoal/engine/devices/devices.h"

#include <map>
#include <mutex>

#include "shoal/engine/device/hybrid.h"

namespace shoal {
namespace {

using Made = Result<std::unique_ptr<Device>>;

Made make_cpu(std::string_view, const DeviceOptions& options) {
  return make_cpu_device(options.cpu);
}

Made make_reference(std::string_view, const DeviceOptions&) { return make_reference_device(); }

// FIRST+FALLBACK, where the fallback may be a hybrid device, too.
Made make_hybrid(std::string_view argument, const DeviceOptions& options) {
  const size_t plus = argument.find('+');
  if (plus == argument.npos) return invalid("a hybrid device is named hybrid:FIRST+FALLBACK");
  SHOAL_ASSIGN(auto first, make_device(argument.substr(0, plus), options));
  SHOAL_ASSIGN(auto fallback, make_device(argument.substr(plus + 1), options));
  return make_hybrid_device(std::move(first), std::move(fallback));
}

// The kinds of devices. The constructor registers the engine's: static initialisers would be
// dropped by the linker together with their object files.
class Registry {
 public:
  Registry() {
    add({"cpu", "the processor's vector units", true, make_cpu});
    add({"reference", "slow and plain", true, make_reference});
    add({"hybrid", "two devices: hybrid:FIRST+FALLBACK", false, make_hybrid});
  }

  void add(DeviceKind kind) {
    const std::scoped_lock lock(mutex_);
    std::string name = kind.name;
    kinds_.insert_or_assign(std::move(name), std::move(kind));
  }

  std::vector<DeviceKind> all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<DeviceKind> all;
    for (const auto& [name, kind] : kinds_) all.push_back(kind);
    return all;
  }

  void explain(std::string kind, std::string how) {
    const std::scoped_lock lock(mutex_);
    missing_.insert_or_assign(std::move(kind), std::move(how));
  }

  // A copy: making a device may take long, or make another.
  Result<DeviceKind> find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = kinds_.find(name);
    if (found != kinds_.end()) return found->second;
    std::string names;
    for (const auto& [other, kind] : kinds_) names += (names.empty() ? "" : ", ") + other;
    const auto missing = missing_.find(name);
    if (missing != missing_.end()) names += "; " + missing->second;
    return Status(Code::kNotFound, "no device " + std::string(name) + "; there are " + names);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, DeviceKind, std::less<>> kinds_;
  std::map<std::string, std::string, std::less<>> missing_;  // how each can be had
};

// A function-local static: registration by other static initialisers may come first.
Registry& registry() {
  static Registry registry;
  return registry;
}

}  // namespace

Made make_device(std::string_view name, const DeviceOptions& options) {
  const size_t colon = name.find(':');
  SHOAL_ASSIGN(const DeviceKind kind, find_device_kind(name));
  return kind.make(colon == name.npos ? "" : name.substr(colon + 1), options);
}

Result<DeviceKind> find_device_kind(std::string_view name) {
  return registry().find(name.substr(0, name.find(':')));
}

void register_device(DeviceKind kind) { registry().add(std::move(kind)); }

void explain_missing_device(std::string kind, std::string how) {
  registry().explain(std::move(kind), std::move(how));
}

std::vector<DeviceKind> device_kinds() { return registry().all(); }

}  // namespace shoal
