// shoal devices: every worker of the cluster: what it is, how fast, how far, how busy.
#include <algorithm>
#include <cstdio>

#include "../cli.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "emulation_flags.h"
#include "shoal/cluster/folder.h"
#include "shoal/cluster/profiling.h"
#include "shoal/net/discovery/discovery.h"
#include "shoal/net/tls/membership.h"

namespace shoal::cli {
namespace {

using cluster::ListedWorker;

constexpr const char* kExamples = R"(
Examples:
  shoal devices                 all workers of the cluster in the usual folder
  shoal devices --json          for scripts
  shoal devices --discover      and those that say they are on this network, member or not
Speed is measured: multiply-accumulates of a 3x3 convolution, small messages, and bulk.)";

struct Flags {
  std::string folder = cluster::default_cluster_folder().string();
  bool json = false;
  bool discover = false;
  EmulationFlags emulation;
};

struct Found {
  ListedWorker worker;
  Status health;
  cluster::WorkerInspection seen;  // if it is healthy
};

Json to_json(const Found& found) {
  Json object = {{"name", found.worker.name},
                 {"address", found.worker.address},
                 {"health", found.health.ok() ? "ok" : std::string(found.health.message())}};
  if (!found.health.ok()) return object;
  object.update({{"processor", found.seen.state.processor},
                 {"threads", found.seen.state.threads},
                 {"memory_bytes", found.seen.state.memory_bytes},
                 {"free_bytes", found.seen.state.free_bytes},
                 {"gmac_per_s", 1e-9 * found.seen.macs_per_second},
                 {"latency_ms", 1e3 * found.seen.link.latency_seconds},
                 {"mbit_per_s", 8e-6 * found.seen.link.bytes_per_second},
                 {"wakeup_ms", 1e3 * found.seen.link.wakeup_seconds},
                 {"load", found.seen.state.load},
                 {"slowdown", found.seen.state.slowdown},
                 {"plans", found.seen.state.plans},
                 {"tasks", found.seen.state.tasks},
                 {"weight_bytes", found.seen.state.weight_bytes}});
  return object;
}

void print_found(const std::vector<Found>& all) {
  Table table({"worker", "address", "processor", "threads", "free memory", "GMAC/s", "latency ms",
               "Mbit/s", "wake-up ms", "load", "plans", "health"});
  for (const Found& found : all) {
    const bool ok = found.health.ok();
    const auto if_ok = [&](std::string text) { return ok ? std::move(text) : std::string("-"); };
    table.add({found.worker.name, found.worker.address, if_ok(found.seen.state.processor),
               if_ok(std::to_string(found.seen.state.threads)),
               if_ok(in_bytes(static_cast<long long>(found.seen.state.free_bytes))),
               if_ok(fixed(1e-9 * found.seen.macs_per_second, 1)),
               if_ok(fixed(1e3 * found.seen.link.latency_seconds, 2)),
               if_ok(fixed(8e-6 * found.seen.link.bytes_per_second, 1)),
               if_ok(fixed(1e3 * found.seen.link.wakeup_seconds, 1)),
               if_ok(fixed(found.seen.state.load, 2)),
               if_ok(std::to_string(found.seen.state.plans)), ok ? "ok" : "gone"});
  }
  table.print();
  for (const Found& found : all) {
    if (!found.health.ok()) {
      std::fprintf(stderr, "%s\n", std::string(found.health.message()).c_str());
    }
  }
}

// Workers that are listed, and behind them those that were found elsewhere.
Result<std::vector<ListedWorker>> workers_of(const Flags& flags,
                                             const cluster::ClusterFolder& folder) {
  SHOAL_ASSIGN(std::vector<ListedWorker> workers, folder.workers());
  if (!flags.discover) return workers;
  SHOAL_ASSIGN(const std::vector<net::Peer> found, net::discover(net::kDiscoveryTimeout));
  for (const net::Peer& peer : found) {
    const ListedWorker worker{peer.name, peer.address};
    if (std::ranges::find(workers, worker) == workers.end()) workers.push_back(worker);
  }
  return workers;
}

Outcome devices(const Flags& flags) {
  const cluster::ClusterFolder folder(flags.folder);
  net::TlsOptions tls;
  SHOAL_OR_EXIT(tls.membership, Exit::kUsage, folder.membership());
  SHOAL_OR_EXIT(const auto workers, Exit::kUsage, workers_of(flags, folder));
  SHOAL_OR_EXIT(const emulate::Emulation emulation, Exit::kUsage, flags.emulation.make());
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage,
                emulation.transport(tls.membership->identity(), "", tls));
  std::vector<Found> all;
  auto inspected = cluster::inspect_workers(workers, *transport);
  for (size_t w = 0; w < workers.size(); ++w) {
    auto& seen = inspected[w];
    Found& found = all.emplace_back(Found{workers[w], seen.status(), {}});
    if (seen.ok()) found.seen = *std::move(seen);
  }
  if (flags.json) {
    Json list = Json::array();
    for (const Found& found : all) list.push_back(to_json(found));
    print_json(list);
  } else {
    print_found(all);
  }
  const auto gone =
      std::ranges::count_if(all, [](const Found& found) { return !found.health.ok(); });
  if (gone == 0) return {};
  return {Exit::kDegraded,
          std::to_string(gone) + " of " + std::to_string(all.size()) + " workers did not answer"};
}

}  // namespace

void add_devices(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "devices", "Show every worker: speed, link, health, load", kExamples, devices);
  command.add_setting("--dir", flags.folder, "The cluster's folder");
  command.add_flag("--json", flags.json, "Print one JSON list");
  command.add_flag("--discover", flags.discover, "Look for workers on this network, too");
  flags.emulation.add_to(command);
}

}  // namespace shoal::cli
