// Two tables, one for each receiver. A kind that a table does not name is refused, so a new message
// needs a row before it can be received.
#include "shoal/cluster/messages/permissions.h"

#include <algorithm>
#include <span>
#include <string>

#include "messages.pb.h"

namespace shoal::cluster {
namespace {

using Kind = message::Message::KindCase;

// A set of roles.
using Roles = unsigned;
constexpr Roles only(net::Role role) { return 1U << static_cast<unsigned>(role); }

constexpr Roles kWorkers = only(net::Role::kWorker);
constexpr Roles kLeaders = only(net::Role::kCoordinator) | only(net::Role::kOwner);
constexpr Roles kAskers = kLeaders | only(net::Role::kClient);
constexpr Roles kAll = kAskers | kWorkers;
// An owner may do everything, so also work.
constexpr Roles kServers = kWorkers | only(net::Role::kOwner);

struct Row {
  Kind kind;
  Roles senders;
};

constexpr Row kForWorkers[] = {
    {Kind::kHello, kAll},
    {Kind::kAsk, kAskers},
    {Kind::kEcho, kAskers},
    {Kind::kMeasure, kLeaders},
    {Kind::kDeploy, kLeaders},
    {Kind::kBlob, kLeaders},
    {Kind::kStart, kLeaders},
    {Kind::kRelease, kLeaders},
    {Kind::kRejoin, kLeaders},
    {Kind::kForget, kLeaders},
    {Kind::kAwake, kLeaders},
    {Kind::kCheck, kLeaders},
    {Kind::kBeginTask, kLeaders},
    {Kind::kTaskMessage, kLeaders},
    {Kind::kRenewed, only(net::Role::kOwner)},
    {Kind::kData, kLeaders | kWorkers},  // of these, those that the plan names
    {Kind::kFailed, kServers},           // what was sent to them is refused
};

constexpr Row kForCoordinators[] = {
    {Kind::kWelcome, kServers},   {Kind::kMissing, kServers},     {Kind::kReady, kServers},
    {Kind::kData, kServers},      {Kind::kTraced, kServers},      {Kind::kFailed, kServers},
    {Kind::kCut, kServers},       {Kind::kDenyList, kServers},    {Kind::kStored, kServers},
    {Kind::kWorking, kServers},   {Kind::kState, kServers},       {Kind::kChecked, kServers},
    {Kind::kTaskReady, kServers}, {Kind::kTaskMessage, kServers},
};

Status check(std::span<const Row> table, const message::Message& message, net::Role from,
             std::string_view receiver) {
  const auto row = std::ranges::find(table, message.kind_case(), &Row::kind);
  if (row == table.end()) {
    return Status(Code::kCorrupt, "a message that " + std::string(receiver) + " do not get");
  }
  if ((row->senders & only(from)) != 0) return {};
  return invalid("a " + std::string(net::to_string(from)) + " may not ask for that");
}

}  // namespace

Status check_for_worker(const message::Message& message, net::Role from) {
  return check(kForWorkers, message, from, "workers");
}

Status check_for_coordinator(const message::Message& message, net::Role from) {
  return check(kForCoordinators, message, from, "coordinators");
}

bool may_take_charge(net::Role role) { return (kLeaders & only(role)) != 0; }

}  // namespace shoal::cluster
