#include "shoal/cluster/emulate/machines/emulation.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/cluster/emulate/faults/faulty_transport.h"
#include "shoal/cluster/emulate/faults/lying_device.h"
#include "shoal/cluster/emulate/machines/links.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

std::filesystem::path slow_file(const std::filesystem::path& media) { return media / "slow"; }
std::filesystem::path lies_file(const std::filesystem::path& media) { return media / "lies"; }
std::filesystem::path faults_file(const std::filesystem::path& media) { return media / "faults"; }

}  // namespace

Result<int> Emulation::number_of(const std::string& machine) const {
  if (machine.empty()) return plan::kCoordinator;
  const auto it = std::ranges::find(cluster.workers, machine, &plan::WorkerProfile::name);
  if (it == cluster.workers.end()) return invalid("no emulated device is called " + machine);
  return static_cast<int>(it - cluster.workers.begin());
}

Result<std::shared_ptr<SharedDilation>> Emulation::shared_dilation() const {
  return SharedDilation::open(media, dilation);
}

Result<DevicePace> Emulation::pace_of(const std::string& worker) const {
  SHOAL_ASSIGN(const int number, number_of(worker));
  SHOAL_ASSIGN(const auto shared, shared_dilation());
  return DevicePace{cluster.workers[static_cast<size_t>(number)],
                    [shared, emulation = *this, worker] {
                      return shared->get() * emulation.slowness_of(worker);
                    }};
}

Status Emulation::slow_down(const std::string& worker, double times) const {
  return write_file(slow_file(media), worker + " " + std::to_string(times) + "\n");
}

double Emulation::slowness_of(const std::string& worker) const {
  std::ifstream slow(slow_file(media));
  std::string name;
  // Read before every task: the caller may choose another worker between two requests.
  double times = 1;
  return slow >> name >> times && name == worker ? times : 1;
}

Status Emulation::let_lie(const std::string& worker, uint64_t every) const {
  return write_file(lies_file(media), worker + " " + std::to_string(every) + "\n");
}

uint64_t Emulation::lies_of(const std::string& worker) const {
  if (media.empty()) return 0;
  std::ifstream lies(lies_file(media));
  std::string name;
  uint64_t every = 0;
  return lies >> name >> every && name == worker ? every : 0;
}

Result<std::shared_ptr<SharedNetworkFaults>> Emulation::make_faults(
    const std::vector<std::string>& workers) const {
  return SharedNetworkFaults::make(faults_file(media), workers);
}

Result<std::shared_ptr<SharedNetworkFaults>> Emulation::faults() const {
  std::error_code error;
  // Most runs inject no faults, and their channels should not pay for the possibility.
  if (media.empty() || !std::filesystem::exists(faults_file(media), error)) {
    return std::shared_ptr<SharedNetworkFaults>();
  }
  return SharedNetworkFaults::open(faults_file(media));
}

Result<std::shared_ptr<Breakpoint>> Emulation::breakpoint() const {
  return Breakpoint::open(media / "breakpoint");
}

Result<std::function<void(int)>> Emulation::fault_hook(const std::string& worker) const {
  SHOAL_ASSIGN(const auto shared, faults());
  if (shared == nullptr) return std::function<void(int)>();
  SHOAL_ASSIGN(const auto holds, breakpoint());
  return std::function<void(int)>(
      [holds, number = shared->number_of(worker)](int point) { holds->hit(number, point); });
}

Result<WorkerDevices> devices_of(const Emulation& emulation, const std::string& worker,
                                 Device& device, Device& learner) {
  std::vector<std::unique_ptr<Device>> made;
  Device *used = &device, *learns = &learner;
  const auto replace = [&](Device*& by, std::unique_ptr<Device> other) {
    by = other.get();
    made.push_back(std::move(other));
  };
  if (emulation.is_on()) {
    SHOAL_ASSIGN(const DevicePace pace, emulation.pace_of(worker));
    replace(learns, make_paced_device(learner, pace));
    replace(used, make_paced_device(device, pace));
  }
  if (const uint64_t every = emulation.lies_of(worker); every > 0) {
    replace(used, make_lying_device(*used, every));
  }
  return WorkerDevices{*used, *learns, std::move(made)};
}

std::chrono::milliseconds heartbeat_of(const plan::ClusterProfile& cluster, double dilation,
                                       std::chrono::milliseconds beat) {
  constexpr int kTurns = 10;
  const auto is_radio = [](const plan::LinkProfile& link) { return link.wakeup_seconds > 0; };
  if (std::ranges::any_of(cluster.links, is_radio)) beat *= kTurns;
  return std::chrono::duration_cast<std::chrono::milliseconds>(beat * std::max(1.0, dilation));
}

Result<std::unique_ptr<net::Transport>> Emulation::transport(const net::Identity& identity,
                                                             const std::string& machine,
                                                             net::TlsOptions options) const {
  SHOAL_ASSIGN(auto shared, faults());
  if (is_on()) {
    SHOAL_ASSIGN(const int self, number_of(machine));
    SHOAL_ASSIGN(auto links, make_links(*this, self));
    options.channel.decorators.push_back(std::move(links));
    // Without faults no machine falls silent, and the dilation may be raised while channels are
    // open. With them, silence must be noticed in time, and the dilation stays.
    const double most = shared == nullptr ? DilationSearch::kMaxRaise * dilation : dilation;
    options.channel.beat = heartbeat_of(cluster, most, options.channel.beat);
  }
  if (shared == nullptr) return net::make_tls_transport(identity, std::move(options));
  const int self = shared->number_of(machine);
  return make_faulty_transport(identity, std::move(options), std::move(shared), self);
}

std::chrono::milliseconds lull_of(const plan::ClusterProfile& cluster, double dilation) {
  constexpr double kMargin = 1.5;   // the last message leaves the radio some time after the answer
  constexpr double kMost = 86'400;  // seconds; figures come from a file
  double last = 0;
  for (const plan::LinkProfile& link : cluster.links) {
    if (link.wakeup_seconds > 0) last = std::max(last, link.sleep_after_seconds);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(std::min(kMargin * last * dilation, kMost)));
}

}  // namespace shoal::emulate
