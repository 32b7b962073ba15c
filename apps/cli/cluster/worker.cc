// shoal worker: lends this device to a cluster.
#include <cstdio>
#include <iostream>

#include "../cli.h"
#include "../exit_codes.h"
#include "../model.h"
#include "apps/cluster_commands/members.h"
#include "emulation_flags.h"
#include "shoal/base/machine/machine.h"
#include "shoal/base/machine/malloc_arenas.h"
#include "shoal/base/processes/stop_signals.h"
#include "shoal/base/processes/supervisor.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/emulate/workers/worker_service.h"
#include "shoal/cluster/federated/client_session.h"
#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/enrol/token_source.h"
#include "shoal/cluster/net/enrol/worker_membership.h"
#include "shoal/train/data/dataset.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal worker --listen 192.168.1.7:7070 --join-file -  the first time; paste what 'shoal cluster invite' printed
  shoal worker --listen 192.168.1.7:7070                from then on
  shoal worker --threads 2 --memory 500 --speed 0.5     only so much of this machine
  shoal worker --data photos --format folder            may learn from these, which stay here
When it is ready it prints one line: ready NAME ADDRESS. Ctrl-C or SIGTERM ends it.)";

struct Flags {
  std::string listen = "127.0.0.1:7070";
  net::TokenSource token;
  std::string name;
  std::string folder = cluster::default_worker_folder().string();
  emulate::WorkerServiceOptions service;
  std::filesystem::path data;  // this worker's, for training; empty: none
  std::string format;
  bool secure_only = false;
  bool announce = false, no_announce = false;  // neither: where others can reach it
  bool quiet = false;
  EmulationFlags emulation;
};

// Writes one line to stderr, for journald. Line breaks in texts of peers are made printable.
void log_line(const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }

Result<std::shared_ptr<net::Membership>> membership_of(const Flags& flags) {
  SHOAL_ASSIGN(const std::string token, flags.token.read(std::cin, log_line));
  return net::open_worker_membership({.folder = flags.folder,
                                      .token = token,
                                      .name = flags.name.empty() ? host_name() : flags.name,
                                      .listen = flags.listen,
                                      .log = log_line});
}

Result<emulate::WorkerServiceOptions> options_of(const Flags& flags) {
  using Announce = emulate::WorkerServiceOptions::Announce;
  emulate::WorkerServiceOptions all = flags.service;
  all.folder = flags.folder;
  SHOAL_ASSIGN(all.emulation, flags.emulation.make());
  all.announce = flags.no_announce ? Announce::kNever
                 : flags.announce  ? Announce::kAlways
                                   : Announce::kIfReachable;
  all.log = log_line;
  if (!flags.quiet) all.log_of_peers = log_line;
  std::shared_ptr<const Dataset> data;  // null: it refuses to learn from its own
  if (!flags.data.empty()) {
    SHOAL_ASSIGN(data, open_dataset(flags.data, flags.format, Split::kTraining));
  }
  all.tasks[federated_cluster::kFederatedTask] =
      federated_cluster::learn_from(std::move(data), {.secret_only = flags.secure_only});
  return all;
}

Outcome serve(const Flags& flags) {
  use_one_malloc_arena();
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  SHOAL_OR_EXIT(const auto membership, Doing::kTalk, membership_of(flags));
  SHOAL_OR_EXIT(auto options, Exit::kUsage, options_of(flags));
  options.lost = [&] { stop.notify(); };  // the service manager restarts it
  SHOAL_OR_EXIT(const auto service, Exit::kUsage,
                emulate::WorkerService::make(membership, std::move(options)));
  SHOAL_OR_EXIT(const std::string address, Exit::kNetwork, service->listen(flags.listen));
  if (const Status served = service->serve(); !served.ok()) return fail(Exit::kResources, served);
  std::printf("ready %s %s\n", service->name().c_str(), address.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  stop.wait();
  notify_supervisor("STOPPING=1");
  return service->is_lost() ? Outcome{Exit::kDevice, "the device is lost"} : Outcome{};
}

}  // namespace

void add_worker(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "worker", "Lend this device to a cluster", kExamples, serve);
  command.add_setting("--listen", flags.listen, "Where to serve: INTERFACE:PORT; port 0: any");
  command.add(settings_of(flags.token));
  command.add_option("--name", flags.name, "The name to join by; without: the host's");
  command.add_setting("--dir", flags.folder, "Where this worker keeps who it is");
  add_device_to(command, flags.service.device, "What computes");
  command.add(settings_of(flags.service));
  Option* data = command.add_option(
      "--data", flags.data, "Let coordinators learn from this folder, whose examples stay here");
  Option* format = command.add_option("--format", flags.format, "Of it: idx, cifar, npy or folder",
                                      one_of({"idx", "cifar", "npy", "folder"}));
  data->needs(format);
  format->needs(data);
  command
      .add_flag("--secure-only", flags.secure_only,
                "Only in rounds with --secure-sum, in which an honest coordinator sees sums only")
      ->needs(data);
  Option* announce =
      command.add_flag("--announce", flags.announce,
                       "Let it be found by mDNS, as it is unless it serves this machine only");
  command.add_flag("--no-announce", flags.no_announce, "Do not")->excludes(announce);
  command.add_flag("--quiet", flags.quiet, "Log nobody who connects, deploys or is refused");
  flags.emulation.add_to(command);
}

}  // namespace shoal::cli
