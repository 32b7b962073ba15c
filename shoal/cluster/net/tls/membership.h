// Membership: a running peer's place in its cluster: its identity, and the removed members. Both
// change while it runs: certificates are renewed, deny lists arrive from other members. New
// channels show the renewed identity; channels to removed members are closed.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/deny_list.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {

struct MembershipOptions {
  std::function<Time()> clock = std::chrono::system_clock::now;
  // Where a renewed certificate is kept, as save() does. Empty: in memory only.
  std::filesystem::path folder = {};
  // Where the newest deny list is kept. Empty: in memory only.
  std::filesystem::path deny_list = {};
  // Other processes replace these files as well: transports check them four times a second.
  bool shared = false;
  // If shared: returns another certificate when one is due. Null: others renew it.
  std::function<Result<std::string>(Time now)> renewed = nullptr;
};

// A peer that was refused.
struct Refusal {
  Time at;
  std::string why;  // begins with the address
};

// Thread-safe.
class Membership {
 public:
  // Reads an existing deny list; a damaged one counts as none, because members send another.
  static Result<std::shared_ptr<Membership>> make(Identity identity,
                                                  MembershipOptions options = {});
  // Of the identity in a folder, with everything kept there.
  static Result<std::shared_ptr<Membership>> open(
      const std::filesystem::path& folder,
      std::function<Time()> clock = std::chrono::system_clock::now);

  Identity identity() const;
  std::shared_ptr<SSL_CTX> context() const;  // of new channels
  std::shared_ptr<const DenyList> denied() const;
  Time now() const { return options_.clock(); }
  Result<Validity> validity() const;  // of the certificate that is shown now

  // Shows the identity with this certificate from now on, after storing it on disk.
  // kInvalidArgument unless it is for the same key, name, role and cluster. One that ends no later
  // changes nothing.
  Status renew(std::string certificate);

  // Takes a deny list that a member sent, and stores it on disk before it is followed. One that is
  // not newer changes nothing; kCorrupt if the authority has not signed it.
  Status take(std::string_view deny_list);
  // OK unless the holder of this certificate was removed.
  Status check(const CertificateId& id) const;

  // Reads the files again if another process has replaced them, and renews the certificate if that
  // is due.
  void refresh();
  bool is_shared() const { return options_.shared; }

  // `watcher` is called, on any thread, when a member was removed, while the caller keeps it.
  using Watcher = std::function<void()>;
  void watch(const std::shared_ptr<const Watcher>& watcher);

  // The last few.
  void add_refusal(const Status& why);
  std::vector<Refusal> refusals() const;

 private:
  Membership(Identity identity, MembershipOptions options, CertificatePtr authority,
             std::shared_ptr<SSL_CTX> context)
      : options_(std::move(options)),
        authority_(std::move(authority)),
        identity_(std::move(identity)),
        context_(std::move(context)),
        denied_(std::make_shared<DenyList>()) {}
  Result<DenyList> parse(std::string_view deny_list) const;
  Status show(std::string certificate);
  void refresh_certificate();
  void refresh_deny_list();
  void renew_if_due();
  void follow(DenyList list);

  const MembershipOptions options_;
  const CertificatePtr authority_;
  std::mutex changing_;  // one change at a time, with its files
  mutable std::mutex mutex_;
  Identity identity_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<const DenyList> denied_;
  std::vector<std::weak_ptr<const Watcher>> watchers_;
  std::deque<Refusal> refusals_;
  // Guarded by changing_: when the files were last read.
  std::filesystem::file_time_type certificate_read_, deny_list_read_;
  std::chrono::steady_clock::time_point next_try_;  // to renew; guarded by changing_
};

// Replaces the deny list of a folder unless that is as new. Processes take turns.
Status keep_newer(const std::filesystem::path& file, const DenyList& list,
                  const std::string& cluster, X509& authority);

}  // namespace shoal::net
