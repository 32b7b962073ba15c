#include "shoal/cluster/members/member_steps.h"

#include <utility>

#include "shoal/cluster/net/enrol/enrolment.h"

namespace shoal::cluster {

Result<MemberSurvey> survey_members(const ClusterFolder& folder, const UpkeepOptions& options) {
  MemberSurvey survey;
  SHOAL_ASSIGN(survey.visits, visit_workers(folder, options));
  SHOAL_ASSIGN(survey.members, folder.members());
  return survey;
}

Result<std::vector<MemberVisit>> renew_workers(const ClusterFolder& folder, UpkeepOptions options) {
  options.renew_all = true;
  SHOAL_ASSIGN(auto visits, visit_workers(folder, options));
  if (!options.only.empty() && visits.empty()) {
    return Status(Code::kNotFound, "no worker " + options.only + " is listed");
  }
  return visits;
}

Result<Removal> remove_member(const ClusterFolder& folder, const std::string& name,
                              const UpkeepOptions& options) {
  SHOAL_TRY(folder.remove(name, options.now));
  Removal removal{.revoked = net::Authority::is_in(folder.path())};
  if (removal.revoked) {
    SHOAL_ASSIGN(removal.visits, visit_workers(folder, options));
  }
  return removal;
}

Result<net::Token> token_to_join(const ClusterFolder& folder, std::string_view text) {
  SHOAL_ASSIGN(net::Token token, net::parse_token(text));
  if (!net::Authority::is_in(folder.path())) return token;
  return invalid(folder.path().string() + " has a cluster of its own");
}

Result<net::Identity> join_cluster(const ClusterFolder& folder, const net::Token& token,
                                   const std::string& name, net::Deadline deadline) {
  return net::join_from(folder.coordinator_folder(), token, name, deadline);
}

}  // namespace shoal::cluster
