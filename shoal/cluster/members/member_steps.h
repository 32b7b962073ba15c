// The steps by which members join a cluster, are seen, renewed and removed, as `shoal cluster`
// takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/members/member_upkeep.h"
#include "shoal/cluster/net/enrol/invitation.h"

namespace shoal::cluster {

// All members, and what their workers said.
struct MemberSurvey {
  std::vector<MemberState> members = {};
  std::vector<MemberVisit> visits = {};
};

// Visits the workers, which renews those whose time has come, and then reads the members, so that
// their certificates are those of afterwards. Fails as visit_workers() and the folder do.
Result<MemberSurvey> survey_members(const ClusterFolder& folder, const UpkeepOptions& options = {});

// Renews all listed workers before their time, or the one of options.only: kNotFound if it is not
// listed. Otherwise fails as visit_workers() does.
Result<std::vector<MemberVisit>> renew_workers(const ClusterFolder& folder, UpkeepOptions options);

// What became of a member that was removed.
struct Removal {
  // False: the authority is elsewhere, and the certificate is good until its owner removes the
  // member, too.
  bool revoked = false;
  std::vector<MemberVisit> visits = {};  // of workers that were told
};

// Takes a member off the list. Where the authority is, its certificate is revoked, too, and workers
// are visited: who hears of it now refuses the member at once, the others at their next contact.
// Fails as ClusterFolder::remove() and visit_workers() do.
Result<Removal> remove_member(const ClusterFolder& folder, const std::string& name,
                              const UpkeepOptions& options = {});

// The token in `text`, for a folder that is to join another's cluster: kInvalidArgument if it has
// one of its own.
Result<net::Token> token_to_join(const ClusterFolder& folder, std::string_view text);

// Joins as a coordinator or a client, as the token says. From then on the folder coordinates by
// that identity. Fails as net::join_from() does.
Result<net::Identity> join_cluster(const ClusterFolder& folder, const net::Token& token,
                                   const std::string& name, net::Deadline deadline);

}  // namespace shoal::cluster
