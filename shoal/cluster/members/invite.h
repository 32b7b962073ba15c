// OpenInvitation: lets one device join a cluster, as long as its token is valid.
//
//   Notification over;  // notify it to stop waiting
//   SHOAL_ASSIGN(const auto invitation,
//                OpenInvitation::serve(folder, authority, "192.168.1.5:7071", log, over));
//   SHOAL_ASSIGN(const net::Token token, invitation->invite({.role = net::Role::kWorker}));
//   std::puts(to_string(token).c_str());
//   SHOAL_ASSIGN(const OpenInvitation::End end, invitation->wait());
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/threads/notification.h"
#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/enrol/invitation.h"

namespace shoal::cluster {

using Log = std::function<void(const std::string& line)>;  // on any thread

struct InviteOptions {
  std::string address = {};  // of the service, as newcomers see it; empty: as it is
  net::Role role = net::Role::kWorker;
  std::chrono::seconds lifetime = net::kInvitationLifetime;
};

// What to do on the new device, a line each.
std::vector<std::string> instructions_for(const InviteOptions& options);

// Not thread-safe.
class OpenInvitation {
 public:
  enum class End { kJoined, kStopped, kExpired };

  // Serves newcomers, and members that renew their certificates. The authority is the folder's.
  // Fails as net::serve_enrolment() does. REQUIRES: `over` outlives it.
  static Result<std::unique_ptr<OpenInvitation>> serve(const ClusterFolder& folder,
                                                       net::Authority authority,
                                                       const std::string& listen, Log log,
                                                       Notification& over);

  // The token for a newcomer. kInvalidArgument if no address is known at which it can ask.
  Result<net::Token> invite(const InviteOptions& options);
  // Waits until a device has joined, which is listed if it told its address, or the token has
  // expired, or `over` is notified. Fails if the newcomer could not be listed. REQUIRES: invite()
  // was called; called once.
  Result<End> wait();

 private:
  OpenInvitation(const ClusterFolder& folder, net::Authority authority, Log log, Notification& over)
      : folder_(folder), authority_(std::move(authority)), log_(std::move(log)), over_(over) {}
  void tell(const Result<net::Joined>& who);

  const ClusterFolder folder_;
  const net::Authority authority_;
  const Log log_;
  Notification& over_;
  net::Deadline expires_ = {};
  std::mutex mutex_;
  std::optional<Status> listed_;             // of the newcomer
  std::unique_ptr<net::Enrolment> service_;  // last: it ends first
};

// Renews the certificates of members that ask, and lists newcomers, while the result lives. Fails
// as net::serve_enrolment() does. REQUIRES: the authority, which is the folder's, outlives it.
Result<std::unique_ptr<net::Enrolment>> serve_renewals(const ClusterFolder& folder,
                                                       const net::Authority& authority,
                                                       const std::string& listen, Log log);

}  // namespace shoal::cluster
