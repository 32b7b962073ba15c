// The steps of `shoal cluster`: members join, are listed, renewed and removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/members/member_upkeep.h"
#include "shoal/cluster/net/enrol/invitation.h"

namespace shoal::cluster {

// All members, and their workers' answers.
struct MemberSurvey {
  std::vector<MemberState> members = {};
  std::vector<MemberVisit> visits = {};
};

// Visits the workers, which renews certificates that are due, and then reads the members. Fails as
// visit_workers() and the folder do.
Result<MemberSurvey> survey_members(const ClusterFolder& folder, const UpkeepOptions& options = {});

// Renews all listed workers early, or the one of options.only: kNotFound if it is not listed.
// Otherwise fails as visit_workers() does.
Result<std::vector<MemberVisit>> renew_workers(const ClusterFolder& folder, UpkeepOptions options);

// The result of removing a member.
struct Removal {
  // False: the authority is elsewhere, and the certificate is valid until its owner removes the
  // member, too.
  bool revoked = false;
  std::vector<MemberVisit> visits = {};  // of workers that were told
};

// Takes a member off the list. With the authority, its certificate is revoked, too, and workers are
// visited: those reached refuse the member at once, the others at their next contact. Fails as
// ClusterFolder::remove() and visit_workers() do.
Result<Removal> remove_member(const ClusterFolder& folder, const std::string& name,
                              const UpkeepOptions& options = {});

// The token in `text`, for a folder that is to join another's cluster: kInvalidArgument if the
// folder has its own.
Result<net::Token> token_to_join(const ClusterFolder& folder, std::string_view text);

// Joins as a coordinator or a client, as the token says. From then on the folder uses that
// identity. Fails as net::join_from() does.
Result<net::Identity> join_cluster(const ClusterFolder& folder, const net::Token& token,
                                   const std::string& name, net::Deadline deadline);

}  // namespace shoal::cluster
