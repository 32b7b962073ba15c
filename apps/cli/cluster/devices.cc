// shoal devices: every worker of the cluster: its hardware, speed, link and load.
#include <cstdio>

#include "../cli.h"
#include "../facts.h"
#include "apps/cluster_commands/members.h"
#include "emulation_flags.h"
#include "shoal/cluster/members/discovered.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal devices                 all workers of the cluster in the usual folder
  shoal devices --json          for scripts
  shoal devices --discover      and those that say they are on this network, member or not
Speed is measured: multiply-accumulates of a 3x3 convolution, small messages, and bulk.)";

// Of the table of no workers.
const std::vector<std::string> kColumns = {"worker",      "address", "processor",  "threads",
                                           "free memory", "GMAC/s",  "latency ms", "Mbit/s",
                                           "wake-up ms",  "load",    "plans",      "health"};

struct Flags {
  std::string folder = cluster::default_cluster_folder().string();
  bool json = false;
  bool discover = false;
  EmulationFlags emulation;
};

Outcome devices(const Flags& flags) {
  const cluster::ClusterFolder folder(flags.folder);
  net::TlsOptions tls;
  SHOAL_OR_EXIT(tls.membership, Exit::kUsage, folder.membership());
  SHOAL_OR_EXIT(std::vector<cluster::ListedWorker> workers, Exit::kUsage, folder.workers());
  if (flags.discover) {
    SHOAL_OR_EXIT(const auto found, Exit::kUsage, net::discover(net::kDiscoveryTimeout));
    workers = cluster::with_found(std::move(workers), found);
  }
  SHOAL_OR_EXIT(const emulate::Emulation emulation, Exit::kUsage, flags.emulation.make());
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage,
                emulation.transport(tls.membership->identity(), "", tls));
  const auto inspected = cluster::inspect_workers(workers, *transport);
  if (flags.json) {
    print_json(to_json(workers, inspected));
  } else {
    const std::vector<Facts> rows = rows_of(workers, inspected);
    (rows.empty() ? Table(kColumns) : table_of(rows)).print();
  }
  for (const auto& seen : inspected) {
    if (seen.ok() || flags.json) continue;
    std::fprintf(stderr, "%s\n", std::string(seen.status().message()).c_str());
  }
  const std::string missing = unanswered_in(inspected);
  return missing.empty() ? Outcome{} : Outcome{Exit::kDegraded, missing};
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
