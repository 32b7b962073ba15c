// ClusterFolder: the files of a cluster's owner: the certificate authority, the identity of the
// coordinator, and the list of workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {
class Membership;
class Transport;
}  // namespace shoal::net

namespace shoal::cluster {

// $SHOAL_CLUSTER_DIR, or config_folder()/cluster.
std::filesystem::path default_cluster_folder();
std::filesystem::path default_worker_folder();  // config_folder()/worker

struct MemberState {
  std::string name;
  net::Role role;
  net::Time expires;
  bool revoked;
};

// Thread-safe. Processes that change the list do so one after the other, by a lock in the folder.
class ClusterFolder {
 public:
  // Makes a cluster without workers. Fails if the folder has a cluster already.
  static Result<ClusterFolder> create(const std::filesystem::path& path, net::Time now);
  // Opens nothing yet: functions that need a file fail without it. Coordinating needs no authority.
  explicit ClusterFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path coordinator_folder() const;  // of its identity
  Result<net::Authority> authority() const;
  // The identity of the coordinator. If the authority is in this folder, the certificate is renewed
  // in time, or made if it is missing.
  Result<net::Identity> coordinator(net::Time now = std::chrono::system_clock::now()) const;
  // Likewise for transports (TlsOptions): with the deny list, and renewed while they live.
  Result<std::shared_ptr<net::Membership>> membership() const;
  // Over TLS, as this member.
  Result<std::unique_ptr<net::Transport>> transport() const;

  Result<std::vector<ListedWorker>> workers() const;  // in the order they came
  // Replaces a worker of the same name.
  Status add(const ListedWorker& worker) const;
  // Takes a member off the list, revokes its certificate and frees its name. Without the authority,
  // it is only taken off the list.
  Status remove(const std::string& name, net::Time now) const;
  // Members with a certificate of the authority, then removed members.
  Result<std::vector<MemberState>> members() const;

  // For a coordinator that is in charge alone: one more than the last epoch that was issued, and
  // than `beyond`, which a worker follows: the folder may be an old copy. kInvalidArgument if that
  // is too far ahead.
  Result<uint64_t> next_epoch(uint64_t beyond = 0) const;

 private:
  Result<net::Identity> certify_coordinator(const Result<net::Identity>& known,
                                            net::Time now) const;
  Status unlist(std::string_view name) const;
  Status write(const std::vector<ListedWorker>& workers) const;

  std::filesystem::path path_;
};

}  // namespace shoal::cluster
