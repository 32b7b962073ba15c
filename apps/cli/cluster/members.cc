#include "members.h"

#include <algorithm>
#include <cstdio>

#include "../exit_codes.h"
#include "../facts.h"
#include "shoal/base/notification.h"
#include "shoal/base/stop_signals.h"
#include "shoal/cluster/invite.h"
#include "shoal/cluster/member_facts.h"
#include "shoal/net/tls/membership.h"
#include "shoal/net/tls/tls.h"

namespace shoal::cli {
namespace {

using cluster::ClusterFolder;
using cluster::MemberVisit;

constexpr std::chrono::seconds kJoinTimeout{20};

net::Time now() { return std::chrono::system_clock::now(); }

}  // namespace

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

Outcome show_members(const std::string& path, bool json) {
  const ClusterFolder folder(path);
  // Also renews those whose time has come, so that the table is of afterwards.
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage, cluster::visit_workers(folder, {}));
  SHOAL_OR_EXIT(const auto members, Exit::kUsage, folder.members());
  if (json) {
    print_json(to_json(members, visits));
    return {};
  }
  table_of(rows_of(members, now())).print();
  for (const std::string& line : refusals_in(visits)) std::printf("%s\n", line.c_str());
  std::ranges::for_each(absent_in(visits), say);
  return {};
}

Outcome renew_members(const std::string& path, const std::string& name) {
  const ClusterFolder folder(path);
  if (!net::Authority::is_in(path)) {
    const Status renewed = cluster::renew_by_asking(folder, net::after(kJoinTimeout));
    return renewed.ok() ? Outcome{} : fail(Doing::kTalk, renewed);
  }
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage,
                cluster::visit_workers(folder, {.only = name, .renew_all = true}));
  if (!name.empty() && visits.empty()) return {Exit::kUsage, "no worker " + name + " is listed"};
  for (const MemberVisit& visit : visits) {
    if (visit.renewed) std::printf("renewed: %s\n", visit.name.c_str());
  }
  const auto absent = absent_in(visits);
  std::ranges::for_each(absent, say);
  if (absent.empty()) return {};
  return {Exit::kDegraded, std::to_string(absent.size()) + " of " + std::to_string(visits.size()) +
                               " workers were not renewed"};
}

Outcome remove_member(const std::string& path, const std::string& name) {
  const ClusterFolder folder(path);
  if (Status removed = folder.remove(name, now()); !removed.ok()) {
    return fail(Exit::kUsage, removed);
  }
  if (!net::Authority::is_in(path)) {
    say("taken off the list; its certificate is good until the owner removes it");
    return {};
  }
  // Everyone who hears of it now refuses the member at once; the others do at their next contact.
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage, cluster::visit_workers(folder, {}));
  std::ranges::for_each(absent_in(visits), say);
  return {};
}

Outcome serve_renewals(const std::string& path, const std::string& listen) {
  Notification over;
  const StopSignals signals([&] { over.notify(); });
  const ClusterFolder folder(path);
  SHOAL_OR_EXIT(const net::Authority authority, Exit::kUsage, folder.authority());
  SHOAL_OR_EXIT(const auto enrolment, Exit::kNetwork,
                cluster::serve_renewals(folder, authority, listen, say));
  std::printf("ready %s\n", enrolment->address().c_str());
  std::fflush(stdout);
  over.wait();
  return {};
}

Outcome join_cluster(const std::string& path, const std::string& name, const std::string& text) {
  const auto token = net::parse_token(text);
  if (!token.ok()) return fail(Exit::kUsage, token.status());
  if (net::Authority::is_in(path)) return {Exit::kUsage, path + " has a cluster of its own"};
  const auto identity = net::join_from(std::filesystem::path(path) / "coordinator", *token, name,
                                       net::after(kJoinTimeout));
  if (!identity.ok()) return fail(Doing::kTalk, identity.status());
  std::printf("joined cluster %s as %s, %s\n", identity->cluster.c_str(), identity->name.c_str(),
              std::string(net::to_string(identity->role)).c_str());
  return {};
}

}  // namespace shoal::cli
