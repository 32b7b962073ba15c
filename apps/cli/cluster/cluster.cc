// shoal cluster: makes a cluster, invites devices into it, and keeps the list of them.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "../cli.h"
#include "apps/cluster_commands/members.h"
#include "members.h"
#include "shoal/base/processes/stop_signals.h"
#include "shoal/base/terminal/table.h"
#include "shoal/cluster/members/discovered.h"
#include "shoal/cluster/members/invite.h"
#include "shoal/cluster/net/enrol/token_source.h"

namespace shoal::cli {
namespace {

using cluster::ClusterFolder;
using cluster::ListedWorker;
using cluster::OpenInvitation;

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
  net::TokenSource token;
};

Outcome init(const Flags& flags) {
  SHOAL_OR_EXIT(const ClusterFolder made, Exit::kUsage,
                ClusterFolder::create(flags.folder, std::chrono::system_clock::now()));
  SHOAL_OR_EXIT(const net::Authority authority, Exit::kUsage, made.authority());
  std::printf("cluster %s in %s\n", authority.cluster().c_str(), flags.folder.c_str());
  return {};
}

// Serves until a device has joined, or the token has expired, or it is interrupted.
Outcome invite(const Flags& flags) {
  Notification over;
  const StopSignals signals([&] { over.notify(); });
  const auto role = net::parse_role(flags.role);  // --role takes nothing else
  const ClusterFolder folder(flags.folder);
  SHOAL_OR_EXIT(net::Authority authority, Exit::kUsage, folder.authority());
  SHOAL_OR_EXIT(const auto invitation, Exit::kNetwork,
                OpenInvitation::serve(folder, std::move(authority), flags.listen, say, over));
  const cluster::InviteOptions options{
      .address = flags.address, .role = *role, .lifetime = std::chrono::minutes(flags.minutes)};
  SHOAL_OR_EXIT(const net::Token token, Exit::kUsage, invitation->invite(options));
  std::ranges::for_each(instructions_for(options), say);
  std::printf("%s\n", to_string(token).c_str());
  std::fflush(stdout);
  using End = OpenInvitation::End;
  SHOAL_OR_EXIT(const End end, Exit::kResources, invitation->wait());
  if (end == End::kStopped) return {Exit::kInterrupted, "stopped before anybody joined"};
  if (end == End::kExpired) return {Exit::kTimeout, "nobody joined while the token was good"};
  return {};
}

Outcome list(const Flags& flags) {
  SHOAL_OR_EXIT(const auto workers, Exit::kUsage, ClusterFolder(flags.folder).workers());
  Table table({"worker", "address"});
  for (const ListedWorker& worker : workers) table.add({worker.name, worker.address});
  table.print();
  return {};
}

// Only workers that show a certificate of this cluster for that name are listed.
Outcome add_discovered(const Flags& flags) {
  const ClusterFolder folder(flags.folder);
  SHOAL_OR_EXIT(const auto transport, Exit::kUsage, folder.transport());
  SHOAL_OR_EXIT(const auto found, Exit::kUsage, net::discover(net::kDiscoveryTimeout));
  const auto told = [](const ListedWorker& worker, const Status& member) {
    if (!member.ok()) return say("not listed: " + std::string(member.message()));
    std::printf("%s %s\n", worker.name.c_str(), worker.address.c_str());
  };
  const Status listed = cluster::list_members(folder, found, *transport, told);
  return listed.ok() ? Outcome{} : fail(Exit::kResources, listed);
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
  Command* joining =
      add("join", "Become a coordinator or a client of another's cluster",
          [](const Flags& given) -> Outcome {
            SHOAL_OR_EXIT(const std::string token, Exit::kUsage, given.token.read(std::cin, say));
            return join_cluster(given.folder, given.worker.name, token);
          });
  joining->add_option("name", flags.worker.name, "By which name")->required();
  joining->add(settings_of(flags.token));
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
