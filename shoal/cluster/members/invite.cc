#include "shoal/cluster/members/invite.h"

#include "shoal/base/text/printable.h"
#include "shoal/cluster/net/address.h"

namespace shoal::cluster {
namespace {

// An address that others can use: an interface's own, unless all were asked for.
Result<std::string> address_for(const std::string& given, const std::string& listening) {
  if (!given.empty()) return given;
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(listening));
  if (!where.is_all) return listening;
  return invalid("which address should newcomers ask at? Say so as address HOST:PORT");
}

}  // namespace

std::vector<std::string> instructions_for(const InviteOptions& options) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(options.lifetime);
  return {"on the new device, within " + std::to_string(minutes.count()) + " minutes:",
          options.role == net::Role::kWorker ? "  shoal worker --listen ADDRESS:7070 --join-file -"
                                             : "  shoal cluster join NAME --join-file -"};
}

Result<std::unique_ptr<OpenInvitation>> OpenInvitation::serve(const ClusterFolder& folder,
                                                              net::Authority authority,
                                                              const std::string& listen, Log log,
                                                              Notification& over) {
  std::unique_ptr<OpenInvitation> made(
      new OpenInvitation(folder, std::move(authority), std::move(log), over));
  net::EnrolmentOptions options;
  options.told = [invitation = made.get()](const auto& who) { invitation->tell(who); };
  SHOAL_ASSIGN(made->service_, net::serve_enrolment(made->authority_, listen, options));
  return made;
}

Result<net::Token> OpenInvitation::invite(const InviteOptions& options) {
  SHOAL_ASSIGN(const std::string address, address_for(options.address, service_->address()));
  expires_ = net::after(options.lifetime);
  return net::Invitations(authority_)
      .invite(address, std::chrono::system_clock::now(), options.role, options.lifetime);
}

void OpenInvitation::tell(const Result<net::Joined>& who) {
  if (!who.ok()) return log_("refused: " + std::string(who.status().message()));
  if (who->renewed) return log_("renewed: " + who->name);
  const bool says_where = !who->address.empty();
  const Status listed = says_where ? folder_.add({who->name, who->address}) : Status();
  log_("joined: " + who->name + " " +
       (says_where ? who->address : "(not listed: it did not say where it listens)"));
  {
    const std::lock_guard lock(mutex_);
    listed_ = listed;
  }
  over_.notify();
}

Result<OpenInvitation::End> OpenInvitation::wait() {
  const bool notified = over_.wait_until(expires_);
  service_.reset();  // from then on no device joins
  const std::lock_guard lock(mutex_);
  if (listed_ && !listed_->ok()) return *listed_;
  return listed_ ? End::kJoined : notified ? End::kStopped : End::kExpired;
}

Result<std::unique_ptr<net::Enrolment>> serve_renewals(const ClusterFolder& folder,
                                                       const net::Authority& authority,
                                                       const std::string& listen, Log log) {
  net::EnrolmentOptions options;
  options.told = [folder, log = std::move(log)](const Result<net::Joined>& who) {
    if (who.ok() && !who->address.empty()) static_cast<void>(folder.add({who->name, who->address}));
    log(printable(who.ok() ? (who->renewed ? "renewed: " : "joined: ") + who->name
                           : "refused: " + std::string(who.status().message())));
  };
  return net::serve_enrolment(authority, listen, options);
}

}  // namespace shoal::cluster
