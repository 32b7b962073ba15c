#include "emulation.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../cluster_file.h"
#include "shoal/base/atomic_file.h"
#include "shoal/emulate/faulty_transport.h"

namespace shoal::cli {

void Emulation::add_to(CLI::App& command) {
  constexpr const char* kGroup = "Emulation";
  command.add_option("--emulate", file, "Be a device of this cluster.toml, with its links")
      ->envname("SHOAL_EMULATE")
      ->group(kGroup);
  command.add_option("--media", media, "Folder through which emulated devices share links")
      ->envname("SHOAL_EMULATE_MEDIA")
      ->group(kGroup);
  command.add_option("--dilate", dilation, "Seconds that pass for every second that is emulated")
      ->envname("SHOAL_EMULATE_DILATION")
      ->check(CLI::Range(0.001, 1e6))
      ->group(kGroup);
}

Emulation Emulation::of_environment() {
  Emulation emulation;
  CLI::App parser;
  emulation.add_to(parser);
  parser.parse(std::vector<std::string>());
  return emulation;
}

namespace {

std::filesystem::path slow_file(const std::string& media) {
  return std::filesystem::path(media) / "slow";
}

}  // namespace

Status Emulation::slow_down(const std::string& worker, double times) const {
  return write_file(slow_file(media), worker + " " + std::to_string(times) + "\n");
}

double Emulation::slowness_of(const std::string& worker) const {
  std::ifstream slow(slow_file(media));
  std::string name;
  double times = 1;
  return slow >> name >> times && name == worker ? times : 1;
}

Result<emulate::EmulatedLinks> Emulation::as(const std::string& worker) const {
  emulate::EmulatedLinks links;
  SHOAL_ASSIGN(links.cluster, read_cluster(file));
  links.dilation = dilation;
  links.media = media;
  if (worker.empty()) return links;
  const auto& workers = links.cluster.workers;
  const auto self = std::ranges::find(workers, worker, &plan::WorkerProfile::name);
  if (self == workers.end()) return invalid(file + " has no worker " + worker);
  links.self = static_cast<int>(self - workers.begin());
  return links;
}

namespace {

std::filesystem::path weather_file(const std::string& media) {
  return std::filesystem::path(media) / "faults";
}

}  // namespace

Result<std::shared_ptr<emulate::SharedNetworkFaults>> Emulation::make_weather(
    const std::vector<std::string>& workers) const {
  return emulate::SharedNetworkFaults::make(weather_file(media), workers);
}

Result<std::shared_ptr<emulate::SharedNetworkFaults>> Emulation::faults() const {
  std::error_code error;
  if (media.empty() || !std::filesystem::exists(weather_file(media), error)) {
    return std::shared_ptr<emulate::SharedNetworkFaults>();
  }
  return emulate::SharedNetworkFaults::open(weather_file(media));
}

Result<std::shared_ptr<emulate::Breakpoint>> Emulation::breakpoint() const {
  return emulate::Breakpoint::open(std::filesystem::path(media) / "breakpoint");
}

Result<cluster::FaultHook> Emulation::watched(const std::string& worker) const {
  SHOAL_ASSIGN(const auto shared, faults());
  if (shared == nullptr) return cluster::FaultHook();
  SHOAL_ASSIGN(const auto its_trap, breakpoint());
  return cluster::FaultHook(
      [its_trap, number = shared->number_of(worker)](cluster::FaultPoint point) {
        its_trap->pass(number, static_cast<int>(point));
      });
}

double choose_dilation(const plan::ClusterProfile& cluster) {
  constexpr double kMacsPerSecond = 12e9;  // of one core here, in small pieces
  constexpr double kOwnLatency = 0.2e-3;   // of a message here
  constexpr double kLatencyShare = 0.1;
  double macs = 0, latency = 1;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    macs += 1 / std::max(cluster.workers[w].speed_of("Conv").seconds_per_mac, 1e-15);
    latency = std::min(latency, cluster.links[w].latency_seconds);
  }
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  const double to_compute = macs / (cores * kMacsPerSecond);
  const double to_talk = kOwnLatency / (kLatencyShare * std::max(latency, 0.1e-3));
  return std::ceil(std::max({1.0, to_compute, to_talk}));
}

namespace {

// As much slower as everything is. On a radio that all share, whoever has its turn late is silent
// for long without being gone.
std::chrono::milliseconds beat_of(const emulate::EmulatedLinks& links,
                                  std::chrono::milliseconds beat) {
  constexpr int kTurns = 10;
  const auto is_radio = [](const plan::LinkProfile& link) { return link.wakeup_seconds > 0; };
  if (std::ranges::any_of(links.cluster.links, is_radio)) beat *= kTurns;
  return std::chrono::duration_cast<std::chrono::milliseconds>(beat *
                                                               std::max(1.0, links.dilation));
}

}  // namespace

Result<std::unique_ptr<net::Transport>> make_transport(const net::Identity& identity,
                                                       const Emulation& emulation,
                                                       const std::string& worker,
                                                       net::TlsOptions options) {
  if (emulation.is_on()) {
    SHOAL_ASSIGN(const emulate::EmulatedLinks links, emulation.as(worker));
    SHOAL_ASSIGN(auto decorator, emulate::make_links(links));
    options.channel.decorators.push_back(std::move(decorator));
    options.channel.beat = beat_of(links, options.channel.beat);
  }
  SHOAL_ASSIGN(auto faults, emulation.faults());
  if (faults == nullptr) return net::make_tls_transport(identity, std::move(options));
  const int self = faults->number_of(worker);
  return emulate::make_faulty_transport(identity, std::move(options), std::move(faults), self);
}

}  // namespace shoal::cli
