#include "shoal/cluster/members/member_upkeep.h"

#include <algorithm>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/messages/greeting.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::cluster {
namespace {

// The names of members to renew now.
std::set<std::string> due_members(const ClusterFolder& folder, const UpkeepOptions& options) {
  std::set<std::string> due;
  const auto members = net::Authority::members_in(folder.path());
  if (!members.ok()) return due;
  for (const net::Member& member : *members) {
    // Who has expired cannot be reached, but its clock may be behind: trying costs nothing.
    if (options.renew_all || standing_of(member.validity, options.now) != net::Standing::kGood)
      due.insert(member.name);
  }
  return due;
}

Status renew(net::Channel& channel, const std::string& name, const net::Authority& authority,
             net::Time now) {
  message::Message renewed, reply;
  SHOAL_ASSIGN(*renewed.mutable_renewed()->mutable_certificate(), authority.renew(name, now));
  SHOAL_TRY(send(channel, renewed));
  SHOAL_ASSIGN(const net::Frame frame, channel.receive(net::after(kConnectTimeout)));
  SHOAL_TRY(parse(frame, reply));
  if (reply.has_failed()) return status_of(reply.failed());
  if (!reply.has_renewed()) return Status(Code::kCorrupt, "it does not take its certificate");
  return {};
}

}  // namespace

std::vector<MemberVisit> visit_workers(const ClusterFolder& folder,
                                       const std::vector<ListedWorker>& workers,
                                       net::Transport& transport, const UpkeepOptions& options) {
  std::vector<ListedWorker> visited = workers;
  if (!options.only.empty())
    std::erase_if(visited, [&](const ListedWorker& one) { return one.name != options.only; });
  const auto due = due_members(folder, options);
  const auto authority = folder.authority();
  const auto greeted = connect_to_all(visited, transport, EpochClaim{}, options.deadline);
  std::vector<MemberVisit> visits;
  for (size_t i = 0; i < visited.size(); ++i) {
    MemberVisit& visit =
        visits.emplace_back(MemberVisit{visited[i].name, greeted[i].status(), false, {}});
    if (!greeted[i].ok()) continue;
    visit.refused = greeted[i]->info.refused;
    if (!due.contains(visit.name)) continue;
    visit.status = authority.ok() ? renew(*greeted[i]->channel, visit.name, *authority, options.now)
                                  : authority.status();
    visit.renewed = visit.status.ok();
  }
  return visits;
}

Result<std::vector<MemberVisit>> visit_workers(const ClusterFolder& folder,
                                               const UpkeepOptions& options) {
  SHOAL_ASSIGN(const auto workers, folder.workers());
  SHOAL_ASSIGN(const auto transport, folder.transport());
  return visit_workers(folder, workers, *transport, options);
}

Status renew_by_asking(const ClusterFolder& folder, net::Deadline deadline) {
  SHOAL_ASSIGN(const auto membership, folder.membership());
  SHOAL_ASSIGN(const std::string address, net::joined_at(folder.coordinator_folder()));
  SHOAL_ASSIGN(std::string certificate, net::ask_for_renewal(membership, address, deadline));
  return membership->renew(std::move(certificate));
}

void renew_due_workers(const ClusterFolder& folder, net::Transport& transport) {
  const UpkeepOptions options;
  const auto workers = folder.workers();
  if (!workers.ok() || !net::Authority::is_in(folder.path())) return;
  const auto due = due_members(folder, options);
  std::vector<ListedWorker> to_visit = *workers;
  std::erase_if(to_visit, [&](const ListedWorker& one) { return !due.contains(one.name); });
  if (!to_visit.empty()) (void)visit_workers(folder, to_visit, transport, options);
}

}  // namespace shoal::cluster
