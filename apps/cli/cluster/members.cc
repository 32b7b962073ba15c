#include "members.h"

#include <algorithm>
#include <cstdio>

#include "../exit_codes.h"
#include "../facts.h"
#include "apps/cluster_commands/members.h"
#include "shoal/base/processes/stop_signals.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/members/invite.h"
#include "shoal/cluster/members/member_steps.h"

namespace shoal::cli {
namespace {

using cluster::ClusterFolder;

constexpr std::chrono::seconds kJoinTimeout{20};

}  // namespace

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

Outcome show_members(const std::string& path, bool json) {
  SHOAL_OR_EXIT(const auto survey, Exit::kUsage, cluster::survey_members(ClusterFolder(path)));
  if (json) {
    print_json(to_json(survey.members, survey.visits));
    return {};
  }
  table_of(rows_of(survey.members, std::chrono::system_clock::now())).print();
  print_lines(refusals_in(survey.visits));
  std::ranges::for_each(absent_in(survey.visits), say);
  return {};
}

Outcome renew_members(const std::string& path, const std::string& name) {
  const ClusterFolder folder(path);
  if (!net::Authority::is_in(path)) {
    const Status renewed = cluster::renew_by_asking(folder, net::after(kJoinTimeout));
    return renewed.ok() ? Outcome{} : fail(Doing::kTalk, renewed);
  }
  SHOAL_OR_EXIT(const auto visits, Exit::kUsage, cluster::renew_workers(folder, {.only = name}));
  print_lines(renewals_in(visits));
  std::ranges::for_each(absent_in(visits), say);
  const std::string missed = missed_renewals_in(visits);
  return missed.empty() ? Outcome{} : Outcome{Exit::kDegraded, missed};
}

Outcome remove_member(const std::string& path, const std::string& name) {
  SHOAL_OR_EXIT(const cluster::Removal removal, Exit::kUsage,
                cluster::remove_member(ClusterFolder(path), name));
  if (!removal.revoked)
    say("taken off the list; its certificate is good until the owner removes it");
  std::ranges::for_each(absent_in(removal.visits), say);
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
  const ClusterFolder folder(path);
  SHOAL_OR_EXIT(const net::Token token, Exit::kUsage, cluster::token_to_join(folder, text));
  SHOAL_OR_EXIT(const net::Identity identity, Doing::kTalk,
                cluster::join_cluster(folder, token, name, net::after(kJoinTimeout)));
  std::printf("joined cluster %s as %s, %s\n", identity.cluster.c_str(), identity.name.c_str(),
              std::string(net::to_string(identity.role)).c_str());
  return {};
}

}  // namespace shoal::cli
