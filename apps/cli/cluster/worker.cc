// shoal worker: lends this device to a cluster.
#include "shoal/cluster/worker.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "../cli.h"
#include "../exit_codes.h"
#include "../model.h"
#include "emulation_flags.h"
#include "shoal/base/machine.h"
#include "shoal/base/malloc_arenas.h"
#include "shoal/base/notification.h"
#include "shoal/base/printable.h"
#include "shoal/base/supervisor.h"
#include "shoal/cluster/folder.h"
#include "shoal/data/dataset.h"
#include "shoal/device/watched.h"
#include "shoal/devices/devices.h"
#include "shoal/federated_cluster/client_session.h"
#include "shoal/net/address.h"
#include "shoal/net/discovery/discovery.h"
#include "shoal/net/enrol/enrolment.h"
#include "shoal/net/enrol/renewal.h"
#include "shoal/net/enrol/worker_membership.h"
#include "stop_signals.h"
#include "token_flags.h"

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
  TokenFlags token;
  std::string name;
  std::string folder = cluster::default_worker_folder().string();
  std::string device = "cpu";
  int threads = 0;
  int64_t memory_mb = 0;  // 0: half of this machine's
  double speed = 1;
  std::string store;
  int64_t quota_mb = 4096;
  std::filesystem::path data;  // of its own, to learn from; empty: none
  std::string format;
  bool secure_only = false;
  bool announce = false, no_announce = false;  // neither: where others can reach it
  bool quiet = false;
  EmulationFlags emulation;
};

std::string host_name() {
  std::array<char, 64> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "worker";
}

// Writes one line to stderr, for journald. Line breaks in texts of peers are made printable.
void log_line(const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }

Result<std::shared_ptr<net::Membership>> membership_of(const Flags& flags) {
  SHOAL_ASSIGN(const std::string token, flags.token.read());
  return net::open_worker_membership({.folder = flags.folder,
                                      .token = token,
                                      .name = flags.name.empty() ? host_name() : flags.name,
                                      .listen = flags.listen,
                                      .log = log_line});
}

// Renews the certificate where this device joined, if that is known. An owner who meets the worker
// renews it, too.
std::unique_ptr<net::RenewalThread> renew_in_time(
    const Flags& flags, const std::shared_ptr<net::Membership>& membership) {
  auto address = net::joined_at(flags.folder);
  if (!address.ok()) return nullptr;
  return std::make_unique<net::RenewalThread>(membership, *std::move(address), log_line);
}

Result<cluster::WorkerOptions> options_of(const Flags& flags,
                                          const std::shared_ptr<net::Membership>& membership) {
  const net::Identity identity = membership->identity();
  cluster::WorkerOptions options;
  options.name = identity.name;
  options.membership = membership;
  if (!flags.quiet) options.log = log_line;
  // Another cluster that this folder joins counts anew.
  const std::filesystem::path folder(flags.folder);
  SHOAL_ASSIGN(options.epochs, cluster::EpochFile::open(folder / ("epoch-" + identity.cluster)));
  const size_t memory = flags.memory_mb > 0 ? static_cast<size_t>(flags.memory_mb) << 20
                                            : static_cast<size_t>(physical_memory_bytes() / 2);
  // Weights are kept twice: as they came, and as kernels read them.
  options.weight_bytes = options.plan_bytes = memory / 2;
  if (flags.store.empty()) return options;
  SHOAL_ASSIGN(options.cache,
               cluster::WeightCache::open(flags.store, static_cast<size_t>(flags.quota_mb) << 20));
  return options;
}

// What learns from the data of this device; null: it has none.
Result<cluster::BeginOwnLearning> own_learning_of(const Flags& flags) {
  if (flags.data.empty()) return cluster::BeginOwnLearning();
  SHOAL_ASSIGN(std::shared_ptr<const Dataset> data,
               open_dataset(flags.data, flags.format, Split::kTraining));
  return federated_cluster::learn_from(std::move(data), {.secret_only = flags.secure_only});
}

// Announces the worker by mDNS. A failure is only reported, because workers can also be listed by
// hand. Null: not announced.
std::unique_ptr<net::Announcement> announce_if_wanted(const Flags& flags, const std::string& name,
                                                      const std::string& address) {
  const auto where = net::parse_interface(address);
  if (!where.ok() || flags.no_announce) return nullptr;
  if (where->is_loopback && !flags.announce) return nullptr;
  auto announcement = net::announce(name, where->port);
  if (announcement.ok()) return *std::move(announcement);
  std::fprintf(stderr, "not announced: %s\n", std::string(announcement.status().message()).c_str());
  return nullptr;
}

Outcome serve(const Flags& flags) {
  use_one_malloc_arena();
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  net::TlsOptions tls;
  const auto membership = membership_of(flags);
  if (!membership.ok()) return fail(Doing::kTalk, membership.status());
  tls.membership = *membership;
  if (!flags.quiet)
    tls.refused = [](const Status& why) { log_line("refused: " + std::string(why.message())); };
  const net::Identity identity = tls.membership->identity();
  const std::string& name = identity.name;

  const CpuOptions cpu{.threads = flags.threads, .share = flags.speed, .tune = Tune::kFast};
  SHOAL_OR_EXIT(auto made, Exit::kUsage, shoal::make_device(flags.device, {.cpu = cpu}));
  // Plans would be deployed to it again and again: the service manager restarts the worker.
  std::atomic<bool> is_lost = false;
  const auto device = make_watched_device(std::move(made), [&](const Status& why) {
    if (!is_lost.exchange(true)) log_line("ends: " + std::string(why.message()));
    stop.notify();
  });
  // Kernels that are chosen by measuring are not the same on all workers, and round differently.
  CpuOptions estimated = cpu;
  estimated.tune = Tune::kOff;
  SHOAL_OR_EXIT(const auto learner, Exit::kUsage,
                shoal::make_device(flags.device, {.cpu = estimated}));
  SHOAL_OR_EXIT(const emulate::Emulation emulation, Exit::kUsage, flags.emulation.make());
  SHOAL_OR_EXIT(const emulate::WorkerDevices devices, Exit::kUsage,
                emulate::devices_of(emulation, name, *device, *learner));
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage, emulation.transport(identity, name, tls));
  SHOAL_OR_EXIT(auto listener, Exit::kNetwork, transport->listen(flags.listen));
  const std::string address = listener->address();
  SHOAL_OR_EXIT(auto options, Exit::kResources, options_of(flags, tls.membership));
  SHOAL_OR_EXIT(options.own_learning, Exit::kUsage, own_learning_of(flags));
  SHOAL_OR_EXIT(const auto fault_hook, Exit::kResources, emulation.fault_hook(name));
  if (fault_hook) {
    options.reached = [fault_hook](cluster::FaultPoint at) { fault_hook(static_cast<int>(at)); };
  }
  options.learner = &devices.learner;
  cluster::Worker worker(std::move(options), devices.device, *transport);
  worker.serve(std::move(listener));
  const auto announcement = announce_if_wanted(flags, name, address);
  const auto renewal = renew_in_time(flags, tls.membership);
  std::printf("ready %s %s\n", name.c_str(), address.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  stop.wait();
  notify_supervisor("STOPPING=1");
  worker.stop();
  return is_lost ? Outcome{Exit::kDevice, "the device is lost"} : Outcome{};
}

}  // namespace

void add_worker(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "worker", "Lend this device to a cluster", kExamples, serve);
  command.add_setting("--listen", flags.listen, "Where to serve: INTERFACE:PORT; port 0: any");
  flags.token.add_to(command);
  command.add_option("--name", flags.name, "The name to join by; without: the host's");
  command.add_setting("--dir", flags.folder, "Where this worker keeps who it is");
  add_device_to(command, flags.device, "What computes");
  command.add_option("--threads", flags.threads, "Threads to use; 0: one per core",
                     in_range(0, 1024));
  command.add_setting("--memory", flags.memory_mb,
                      "Megabytes for weights and plans at most; 0: half of this machine's",
                      in_range(0, 1 << 24));
  command.add_option("--speed", flags.speed, "Be as slow as this part of one core: 0.25",
                     in_range(0.001, 1.0));
  command.add_option("--store", flags.store,
                     "Keep weights in this folder, for when the worker is started again");
  command.add_setting("--quota", flags.quota_mb, "Megabytes of weights in that folder at most",
                      in_range(0, 1 << 24));
  Option* data = command.add_option(
      "--data", flags.data, "Let coordinators learn from this folder, whose examples stay here");
  Option* format = command.add_option("--format", flags.format, "Of it: idx, cifar, npy or folder",
                                      one_of({"idx", "cifar", "npy", "folder"}));
  data->needs(format);
  format->needs(data);
  command
      .add_flag("--secure-only", flags.secure_only,
                "Only in rounds with --secure-sum, in which no coordinator sees what was learned")
      ->needs(data);
  Option* announce =
      command.add_flag("--announce", flags.announce,
                       "Let it be found by mDNS, as it is unless it serves this machine only");
  command.add_flag("--no-announce", flags.no_announce, "Do not")->excludes(announce);
  command.add_flag("--quiet", flags.quiet, "Log nobody who connects, deploys or is refused");
  flags.emulation.add_to(command);
}

}  // namespace shoal::cli
