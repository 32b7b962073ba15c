#include "shoal/cluster/tasks/dispute.h"

#include "messages.pb.h"

namespace shoal::cluster {

void encode(const std::vector<Dispute>& disputes, message::Checked& to) {
  for (const Dispute& dispute : disputes) {
    message::Checked::Dispute& one = *to.add_disputes();
    for (int64_t i : dispute.index) one.add_index(i);
    for (const Claim& claim : dispute.claims) {
      message::Checked::Claim& said = *one.add_claims();
      said.set_from(claim.from);
      said.set_value(static_cast<int32_t>(claim.value));
      said.set_said(claim.said);
    }
  }
}

Result<std::vector<Dispute>> decode(const message::Checked& from) {
  constexpr int kMostClaims = 260;  // the members of the largest code
  std::vector<Dispute> disputes;
  if (from.disputes_size() > static_cast<int>(kMostDisputes)) {
    return Status(Code::kCorrupt, "more disputes than a worker reports");
  }
  for (const message::Checked::Dispute& one : from.disputes()) {
    if (one.index_size() > static_cast<int>(Shape::kMaxRank) || one.claims_size() > kMostClaims) {
      return Status(Code::kCorrupt, "a dispute that cannot be");
    }
    Dispute& dispute = disputes.emplace_back();
    for (int64_t i : one.index()) dispute.index.push_back(i);
    for (const message::Checked::Claim& claim : one.claims()) {
      dispute.claims.push_back({claim.from(), ValueId{claim.value()}, claim.said()});
    }
  }
  return disputes;
}

}  // namespace shoal::cluster
