// shoal cluster: makes a cluster, invites devices into it, and keeps the list of them.
#include <atomic>
#include <cstdio>
#include <optional>

#include "../cli.h"
#include "../table.h"
#include "members.h"
#include "shoal/base/notification.h"
#include "shoal/cluster/folder.h"
#include "shoal/cluster/worker_probe.h"
#include "shoal/net/address.h"
#include "shoal/net/discovery/discovery.h"
#include "shoal/net/enrol/enrolment.h"
#include "shoal/net/tls/membership.h"
#include "shoal/net/tls/tls.h"
#include "stop_signals.h"
#include "token_flags.h"

namespace shoal::cli {
namespace {

using cluster::ClusterFolder;
using cluster::ListedWorker;

constexpr const char* kExamples = R"(
Examples:
  shoal cluster init                                    once, on the machine that coordinates
  shoal cluster invite --listen 192.168.1.5:7071        prints a token, waits for who uses it
  shoal worker --listen 192.168.1.7:7070 --join-file -  on the new device; paste the token
  shoal cluster add kitchen 192.168.1.7:7070            a worker that has moved
  shoal cluster add --discover                          all of this cluster that are found by mDNS
  shoal cluster list
  shoal cluster status                                  every certificate, its end, who was refused
  shoal cluster remove kitchen                          it is refused everywhere from now on
Who holds the folder decides who belongs; keep it as you keep a key.)";

struct Flags {
  std::string folder = cluster::default_cluster_folder().string();
  std::string listen = "127.0.0.1:7071";
  std::string address;
  std::string role = "worker";
  int minutes = static_cast<int>(net::kInvitationLifetime.count());
  ListedWorker worker;
  bool discover = false;
  bool json = false;
  TokenFlags token;
};

net::Time now() { return std::chrono::system_clock::now(); }

Outcome init(const Flags& flags) {
  SHOAL_OR_EXIT(const ClusterFolder made, Exit::kUsage, ClusterFolder::create(flags.folder, now()));
  SHOAL_OR_EXIT(const net::Authority authority, Exit::kUsage, made.authority());
  std::printf("cluster %s in %s\n", authority.cluster().c_str(), flags.folder.c_str());
  return {};
}

// An address that others can use: an interface's own, unless all were asked for.
Result<std::string> announced(const Flags& flags, const std::string& listening) {
  if (!flags.address.empty()) return flags.address;
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(listening));
  if (!where.is_all) return listening;
  return invalid("which address should newcomers ask at? Say so by --address HOST:PORT");
}

// Serves until one has joined, or the token has expired, or someone stops it.
Outcome invite(const Flags& flags) {
  Notification over;
  std::atomic<bool> stopped = false;
  std::optional<Outcome> outcome;  // of who joined
  const StopSignals signals([&] {
    stopped = true;
    over.notify();
  });
  const auto role = net::parse_role(flags.role);  // --role takes nothing else
  const ClusterFolder folder(flags.folder);
  SHOAL_OR_EXIT(const net::Authority authority, Exit::kUsage, folder.authority());
  net::EnrolmentOptions options;
  options.told = [&](const Result<net::Joined>& who) {
    if (!who.ok()) {
      std::fprintf(stderr, "refused: %s\n", std::string(who.status().message()).c_str());
      return;
    }
    if (who->renewed) {
      std::fprintf(stderr, "renewed: %s\n", who->name.c_str());
      return;
    }
    const Status listed = who->address.empty() ? Status() : folder.add({who->name, who->address});
    std::fprintf(stderr, "joined: %s %s\n", who->name.c_str(),
                 who->address.empty() ? "(not listed: it did not say where it listens)"
                                      : who->address.c_str());
    outcome = listed.ok() ? Outcome{} : fail(Exit::kResources, listed);
    over.notify();
  };
  SHOAL_OR_EXIT(auto enrolment, Exit::kNetwork,
                net::serve_enrolment(authority, flags.listen, options));
  SHOAL_OR_EXIT(const std::string address, Exit::kUsage, announced(flags, enrolment->address()));
  const std::chrono::minutes lifetime(flags.minutes);
  SHOAL_OR_EXIT(const net::Token token, Exit::kUsage,
                net::Invitations(authority).invite(address, now(), *role, lifetime));
  std::fprintf(stderr, "on the new device, within %d minutes:\n", flags.minutes);
  std::fprintf(stderr, *role == net::Role::kWorker
                           ? "  shoal worker --listen ADDRESS:7070 --join-file -\n"
                           : "  shoal cluster join NAME --join-file -\n");
  std::printf("%s\n", to_string(token).c_str());
  std::fflush(stdout);
  over.wait_until(net::after(lifetime));
  enrolment.reset();  // from then on nobody writes the outcome
  if (outcome) return *outcome;
  if (stopped) return {Exit::kInterrupted, "stopped before anybody joined"};
  return {Exit::kTimeout, "nobody joined while the token was good"};
}

Outcome list(const Flags& flags) {
  SHOAL_OR_EXIT(const auto workers, Exit::kUsage, ClusterFolder(flags.folder).workers());
  Table table({"worker", "address"});
  for (const ListedWorker& worker : workers) table.add({worker.name, worker.address});
  table.print();
  return {};
}

// Only who shows a certificate of this cluster in that name is listed.
Outcome add_discovered(const Flags& flags) {
  const ClusterFolder folder(flags.folder);
  net::TlsOptions tls;
  SHOAL_OR_EXIT(tls.membership, Exit::kUsage, folder.membership());
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage,
                net::make_tls_transport(tls.membership->identity(), tls));
  SHOAL_OR_EXIT(const auto found, Exit::kUsage, net::discover(net::kDiscoveryTimeout));
  for (const net::Peer& peer : found) {
    const ListedWorker worker{peer.name, peer.address};
    const Status member = cluster::WorkerProbe::open(worker, *transport).status();
    if (!member.ok()) {
      std::fprintf(stderr, "not listed: %s\n", std::string(member.message()).c_str());
      continue;
    }
    if (Status listed = folder.add(worker); !listed.ok()) return fail(Exit::kResources, listed);
    std::printf("%s %s\n", worker.name.c_str(), worker.address.c_str());
  }
  return {};
}

Outcome done(const Status& status) { return status.ok() ? Outcome{} : fail(Exit::kUsage, status); }

// Commands that members without the authority use, and the one that answers them.
template <class Add>
void add_upkeep(const Add& add, Flags& flags) {
  Command* renewing = add("renew", "Renew certificates before their time", [](const Flags& given) {
    return renew_members(given.folder, given.worker.name);
  });
  renewing->add_option("name", flags.worker.name, "Which; without: all workers");
  Command* serving =
      add("serve", "Renew certificates of members that ask, until stopped",
          [](const Flags& given) { return serve_renewals(given.folder, given.listen); });
  serving->add_setting("--listen", flags.listen, "Where members ask: INTERFACE:PORT");
  Command* joining = add("join", "Become a coordinator or a client of another's cluster",
                         [](const Flags& given) -> Outcome {
                           SHOAL_OR_EXIT(const std::string token, Exit::kUsage, given.token.read());
                           return join_cluster(given.folder, given.worker.name, token);
                         });
  joining->add_option("name", flags.worker.name, "By which name")->required();
  flags.token.add_to(*joining);
}

}  // namespace

void add_cluster(Command& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  Command* command =
      app.add_subcommand("cluster", "Make a cluster, invite devices, list its workers");
  command->footer(kExamples);
  command->require_subcommand();
  const auto add = [&](const char* name, const char* about, Outcome (*act)(const Flags&)) {
    Command* verb = command->add_subcommand(name, about);
    verb->add_setting("--dir", flags->folder, "The cluster's folder");
    verb->callback([flags, act, &action] { action = [flags, act] { return act(*flags); }; });
    return verb;
  };
  add("init", "Make a cluster: a folder with a small certificate authority", &init);
  Command* inviting = add("invite", "Print a token for one device, and wait for it", &invite);
  inviting->add_setting("--listen", flags->listen, "Where newcomers ask: INTERFACE:PORT");
  inviting->add_option("--address", flags->address, "The same as they see it: HOST:PORT");
  inviting->add_setting("--role", flags->role, "What it may do",
                        one_of({"worker", "coordinator", "client"}));
  inviting->add_setting("--minutes", flags->minutes, "How long the token is good",
                        in_range(1, 24 * 60));
  Command* adding = add("add", "List a worker, or where it is now", [](const Flags& given) {
    if (given.discover) return add_discovered(given);
    return done(ClusterFolder(given.folder).add(given.worker));
  });
  Option* name = adding->add_option("name", flags->worker.name, "As it is certified");
  Option* address = adding->add_option("address", flags->worker.address, "HOST:PORT");
  adding
      ->add_flag("--discover", flags->discover,
                 "Those of this cluster that are found on this network")
      ->excludes(name)
      ->excludes(address);
  Command* removing =
      add("remove", "Revoke a member's certificate, and free its name",
          [](const Flags& given) { return remove_member(given.folder, given.worker.name); });
  removing->add_option("name", flags->worker.name, "Which")->required();
  add("list", "List the workers", &list);
  Command* showing = add("status", "Show every certificate, its end, and who was refused",
                         [](const Flags& given) { return show_members(given.folder, given.json); });
  showing->add_flag("--json", flags->json, "Print one JSON object");
  add_upkeep(add, *flags);
}

}  // namespace shoal::cli
