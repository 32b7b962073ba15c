// shoal worker: lends this device to a cluster.
#include "shoal/cluster/worker.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "../cli.h"
#include "../exit_codes.h"
#include "../model.h"
#include "cluster_commands.h"
#include "emulation_flags.h"
#include "notify.h"
#include "shoal/base/malloc_arenas.h"
#include "shoal/base/notification.h"
#include "shoal/cluster/folder.h"
#include "shoal/devices/devices.h"
#include "shoal/emulate/lying_device.h"
#include "shoal/net/address.h"
#include "shoal/net/discovery/discovery.h"
#include "shoal/net/enrol/enrolment.h"
#include "stop_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal worker --listen 192.168.1.7:7070 --join TOKEN   the first time; 'shoal cluster invite' prints it
  shoal worker --listen 192.168.1.7:7070                from then on
  shoal worker --threads 2 --memory 500 --speed 0.5     only so much of this machine
When it is ready it prints one line: ready NAME ADDRESS. Ctrl-C or SIGTERM ends it.)";

constexpr std::chrono::seconds kJoinTimeout{20};

struct Flags {
  std::string listen = "127.0.0.1:7070";
  std::string token;
  std::string name;
  std::string folder = cluster::default_worker_folder().string();
  std::string device = "cpu";
  int threads = 0;
  int64_t memory_mb = 2048;
  double speed = 1;
  std::string store;
  int64_t quota_mb = 4096;
  bool announce = false, no_announce = false;  // neither: where others can reach it
  EmulationFlags emulation;
};

std::string host_name() {
  std::array<char, 64> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "worker";
}

Result<net::Identity> join_by(const Flags& flags) {
  SHOAL_ASSIGN(const net::Token token, net::parse_token(flags.token));
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(flags.listen));
  const std::string name = flags.name.empty() ? host_name() : flags.name;
  SHOAL_ASSIGN(net::Identity identity,
               net::join(token, name, net::after(kJoinTimeout), {.port = where.port}));
  SHOAL_TRY(net::save(identity, flags.folder));
  return identity;
}

// A supervisor starts it with the same token every time; it is used the first.
Status check_joined_by(const net::Identity& known, const Flags& flags) {
  SHOAL_ASSIGN(const net::Token token, net::parse_token(flags.token));
  SHOAL_ASSIGN(const net::Fingerprint fingerprint, net::authority_fingerprint(known));
  if (fingerprint == token.fingerprint) return {};
  return invalid("this device is " + known.name + " of cluster " + known.cluster +
                 " already, and the token is of another; choose another --dir");
}

// The identity of this worker: that of the folder, or a new one that the cluster gives for the
// token.
Result<net::Identity> identity_of(const Flags& flags) {
  auto known = net::load_identity(flags.folder);
  if (flags.token.empty()) {
    if (known.status().code() != Code::kNotFound) return known;
    return Status(Code::kInvalidArgument,
                  "this device belongs to no cluster: get a token from 'shoal cluster invite' and "
                  "pass it by --join (looked in " +
                      flags.folder + ")");
  }
  if (!known.ok()) return join_by(flags);
  SHOAL_TRY(check_joined_by(*known, flags));
  return known;
}

Result<cluster::WorkerOptions> options_of(const Flags& flags, const net::Identity& identity) {
  cluster::WorkerOptions options;
  options.name = identity.name;
  // Another cluster that this folder joins counts anew.
  const std::filesystem::path folder(flags.folder);
  SHOAL_ASSIGN(options.epochs, cluster::EpochFile::open(folder / ("epoch-" + identity.cluster)));
  options.weight_bytes = static_cast<size_t>(flags.memory_mb) << 20;
  if (flags.store.empty()) return options;
  SHOAL_ASSIGN(options.cache,
               cluster::WeightCache::open(flags.store, static_cast<size_t>(flags.quota_mb) << 20));
  return options;
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
  auto identity = identity_of(flags);
  if (!identity.ok()) return fail(Doing::kTalk, identity.status());
  const std::string& name = identity->name;

  const CpuOptions cpu{.threads = flags.threads, .share = flags.speed, .tune = Tune::kFast};
  SHOAL_OR_EXIT(const auto device, Exit::kUsage, shoal::make_device(flags.device, {.cpu = cpu}));
  std::unique_ptr<Device> paced;
  SHOAL_OR_EXIT(const emulate::Emulation emulation, Exit::kUsage, flags.emulation.make());
  if (emulation.is_on()) {
    SHOAL_OR_EXIT(emulate::DevicePace pace, Exit::kUsage, emulation.pace_of(name));
    paced = emulate::make_paced_device(*device, std::move(pace));
  }
  std::unique_ptr<Device> lying;
  if (const uint64_t every = emulation.lies_of(name); every > 0) {
    lying = emulate::make_lying_device(paced ? *paced : *device, every);
  }
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage, emulation.transport(*identity, name));
  SHOAL_OR_EXIT(auto listener, Exit::kNetwork, transport->listen(flags.listen));
  const std::string address = listener->address();
  SHOAL_OR_EXIT(auto options, Exit::kResources, options_of(flags, *identity));
  SHOAL_OR_EXIT(const auto fault_hook, Exit::kResources, emulation.fault_hook(name));
  if (fault_hook) {
    options.reached = [fault_hook](cluster::FaultPoint at) { fault_hook(static_cast<int>(at)); };
  }
  Device& used = lying ? *lying : paced ? *paced : *device;
  cluster::Worker worker(std::move(options), used, *transport);
  worker.serve(std::move(listener));
  const auto announcement = announce_if_wanted(flags, name, address);
  std::printf("ready %s %s\n", name.c_str(), address.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  stop.wait();
  notify_supervisor("STOPPING=1");
  worker.stop();
  return {};
}

}  // namespace

void add_worker(Command& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  Command* command = app.add_subcommand("worker", "Lend this device to a cluster");
  command->footer(kExamples);
  command->add_option("--listen", flags->listen, "Where to serve: INTERFACE:PORT; port 0: any")
      ->capture_default_str();
  command->add_option("--join", flags->token, "Join the cluster that printed this token");
  command->add_option("--name", flags->name, "The name to join by; without: the host's");
  command->add_option("--dir", flags->folder, "Where this worker keeps who it is")
      ->capture_default_str();
  add_device_to(*command, flags->device, "What computes");
  command->add_option("--threads", flags->threads, "Threads to use; 0: one per core")
      ->check(in_range(0, 1024));
  command->add_option("--memory", flags->memory_mb, "Megabytes of weights to keep at most")
      ->check(in_range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--speed", flags->speed, "Be as slow as this part of one core: 0.25")
      ->check(in_range(0.001, 1.0));
  command->add_option("--store", flags->store,
                      "Keep weights in this folder, for when the worker is started again");
  command->add_option("--quota", flags->quota_mb, "Megabytes of weights in that folder at most")
      ->check(in_range(0, 1 << 24))
      ->capture_default_str();
  Option* announce =
      command->add_flag("--announce", flags->announce,
                        "Let it be found by mDNS, as it is unless it serves this machine only");
  command->add_flag("--no-announce", flags->no_announce, "Do not")->excludes(announce);
  flags->emulation.add_to(*command);
  command->callback([flags, &action] { action = [flags] { return serve(*flags); }; });
}

}  // namespace shoal::cli
