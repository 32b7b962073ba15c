#include "members.h"

#include <cstdio>
#include <vector>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/base/notification.h"
#include "shoal/base/printable.h"
#include "shoal/base/time_text.h"
#include "shoal/cluster/folder.h"
#include "shoal/cluster/member_upkeep.h"
#include "shoal/net/enrol/enrolment.h"
#include "shoal/net/tls/membership.h"
#include "shoal/net/tls/tls.h"
#include "stop_signals.h"

namespace shoal::cli {
namespace {

using cluster::ClusterFolder;
using cluster::MemberVisit;

constexpr std::chrono::seconds kJoinTimeout{20};

net::Time now() { return std::chrono::system_clock::now(); }

// Names on stderr those that were not reached, and returns how many they are.
size_t report_absent(const std::vector<MemberVisit>& visits) {
  size_t absent = 0;
  for (const MemberVisit& visit : visits) {
    if (visit.status.ok()) continue;
    ++absent;
    std::fprintf(stderr, "not reached: %s\n",
                 printable(std::string(visit.status.message())).c_str());
  }
  return absent;
}

void print_members(const std::vector<cluster::MemberState>& members,
                   const std::vector<MemberVisit>& visits) {
  Json list = Json::array();
  for (const auto& member : members) {
    list.push_back({{"name", member.name},
                    {"role", std::string(net::to_string(member.role))},
                    {"expires", in_utc(member.expires)},
                    {"revoked", member.revoked}});
  }
  Json refused = Json::array();
  for (const MemberVisit& visit : visits) {
    for (const std::string& why : visit.refused)
      refused.push_back({{"by", visit.name}, {"why", printable(why)}});
  }
  const Json all = {{"members", list}, {"refused", refused}};
  print_json(all);
}

void print_table(const std::vector<cluster::MemberState>& members,
                 const std::vector<MemberVisit>& visits) {
  Table table({"member", "role", "certificate ends", "state"});
  for (const auto& member : members) {
    const char* state = member.revoked ? "removed" : member.expires <= now() ? "expired" : "good";
    table.add(
        {member.name, std::string(net::to_string(member.role)), in_utc(member.expires), state});
  }
  table.print();
  for (const MemberVisit& visit : visits) {
    for (const std::string& why : visit.refused)
      std::printf("refused by %s: %s\n", visit.name.c_str(), printable(why).c_str());
  }
}

}  // namespace

Outcome show_members(const std::string& path, bool json) {
  const ClusterFolder folder(path);
  // Also renews those whose time has come, so that the table is of afterwards.
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage, cluster::visit_workers(folder, {}));
  SHOAL_OR_EXIT(const auto members, Exit::kUsage, folder.members());
  json ? print_members(members, visits) : print_table(members, visits);
  if (!json) report_absent(visits);
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
  const size_t absent = report_absent(visits);
  if (absent == 0) return {};
  return {Exit::kDegraded, std::to_string(absent) + " of " + std::to_string(visits.size()) +
                               " workers were not renewed"};
}

Outcome remove_member(const std::string& path, const std::string& name) {
  const ClusterFolder folder(path);
  if (Status removed = folder.remove(name, now()); !removed.ok()) {
    return fail(Exit::kUsage, removed);
  }
  if (!net::Authority::is_in(path)) {
    std::fprintf(stderr,
                 "taken off the list; its certificate is good until the owner removes it\n");
    return {};
  }
  // Everyone who hears of it now refuses the member at once; the others do at their next contact.
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage, cluster::visit_workers(folder, {}));
  report_absent(visits);
  return {};
}

Outcome serve_renewals(const std::string& path, const std::string& listen) {
  Notification over;
  const StopSignals signals([&] { over.notify(); });
  const ClusterFolder folder(path);
  SHOAL_OR_EXIT(const net::Authority authority, Exit::kUsage, folder.authority());
  net::EnrolmentOptions options;
  options.told = [&](const Result<net::Joined>& who) {
    if (who.ok() && !who->address.empty()) static_cast<void>(folder.add({who->name, who->address}));
    const std::string line = who.ok() ? (who->renewed ? "renewed: " : "joined: ") + who->name
                                      : "refused: " + std::string(who.status().message());
    std::fprintf(stderr, "%s\n", printable(line).c_str());
  };
  SHOAL_OR_EXIT(const auto enrolment, Exit::kNetwork,
                net::serve_enrolment(authority, listen, options));
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
