#include "shoal/cluster/members/folder.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/user_folders.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/members/epoch_file.h"
#include "shoal/cluster/messages/sealed_file.h"
#include "shoal/cluster/net/address.h"
#include "shoal/cluster/net/folder_lock.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/tls.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkersFile = "workers";  // a line each: NAME ADDRESS
constexpr const char* kCoordinatorFolder = "coordinator";
constexpr const char* kCoordinatorName = "coordinator";

constexpr const char* kEpochFile = "epoch";
constexpr const char* kDenyListFile = "denied";

using net::FolderLock;

// Names and addresses are written as lines, so neither may contain a space or a line break.
Status check(const ListedWorker& worker) {
  if (!net::is_peer_name(worker.name))
    return invalid("\"" + printable(worker.name) + "\" cannot be the name of a worker");
  return net::parse_address(worker.address).status();
}

Status no_cluster(const fs::path& path) {
  return Status(Code::kNotFound,
                "no cluster in " + path.string() + "; 'shoal cluster init' makes one");
}

}  // namespace

fs::path default_cluster_folder() {
  const char* given = std::getenv("SHOAL_CLUSTER_DIR");
  return given != nullptr && *given != '\0' ? fs::path(given) : config_folder() / "cluster";
}

fs::path default_worker_folder() { return config_folder() / "worker"; }

Result<ClusterFolder> ClusterFolder::create(const fs::path& path, net::Time now) {
  // The identity is made last: a power cut may have left an authority without one.
  const bool is_unfinished =
      net::Authority::is_in(path) &&
      net::load_identity(path / kCoordinatorFolder).status().code() == Code::kNotFound;
  if (!is_unfinished) SHOAL_TRY(net::Authority::create(path, now).status());
  ClusterFolder made(path);
  SHOAL_TRY(made.coordinator(now).status());
  return made;
}

Result<net::Authority> ClusterFolder::authority() const {
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return no_cluster(path_);
  return net::Authority::open(path_);
}

// The identity with another certificate, or a new identity if there was none, or if the authority
// knows another key by this name.
Result<net::Identity> ClusterFolder::certify_coordinator(const Result<net::Identity>& known,
                                                         net::Time now) const {
  constexpr net::Grant kGrant{.role = net::Role::kOwner};
  SHOAL_ASSIGN(const net::Authority authority, net::Authority::open(path_));
  auto renewed = known.ok() ? authority.sign_again(*known, now, kGrant) : known;
  if (!renewed.ok()) renewed = authority.issue(kCoordinatorName, now, kGrant);
  if (renewed.ok()) SHOAL_TRY(net::save(*renewed, coordinator_folder()));
  return renewed;
}

Result<net::Identity> ClusterFolder::coordinator(net::Time now) const {
  std::error_code ignored;
  const bool has_authority = net::Authority::is_in(path_);
  if (!has_authority && !fs::exists(coordinator_folder(), ignored)) return no_cluster(path_);
  const auto known = net::load_identity(coordinator_folder());
  if (!has_authority) return known;
  if (known.ok() && known->role == net::Role::kOwner) {
    SHOAL_ASSIGN(const net::Validity validity, net::validity_of(*known));
    if (net::standing_of(validity, now) == net::Standing::kGood) return known;
  }
  auto certified = certify_coordinator(known, now);
  // What there is may do, where the authority cannot be used: others decide whether it has expired.
  return certified.ok() || !known.ok() ? certified : known;
}

fs::path ClusterFolder::coordinator_folder() const { return path_ / kCoordinatorFolder; }

Result<std::shared_ptr<net::Membership>> ClusterFolder::membership() const {
  SHOAL_ASSIGN(net::Identity identity, coordinator());
  const fs::path own = coordinator_folder();
  // The owner's commands change the authority's list while others coordinate.
  const fs::path list = (net::Authority::is_in(path_) ? path_ : own) / kDenyListFile;
  return net::Membership::make(std::move(identity),
                               {.folder = own,
                                .deny_list = list,
                                .shared = true,
                                .renewed = [self = *this](net::Time now) -> Result<std::string> {
                                  SHOAL_ASSIGN(net::Identity renewed, self.coordinator(now));
                                  return std::move(renewed.certificate);
                                }});
}

Result<std::unique_ptr<net::Transport>> ClusterFolder::transport() const {
  net::TlsOptions tls;
  SHOAL_ASSIGN(tls.membership, membership());
  return net::make_tls_transport(tls.membership->identity(), tls);
}

Result<std::vector<ListedWorker>> ClusterFolder::workers() const {
  std::vector<ListedWorker> workers;
  std::error_code ignored;
  if (!fs::exists(path_ / kWorkersFile, ignored)) return workers;
  SHOAL_ASSIGN(const std::string text, read_sealed(path_ / kWorkersFile));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    ListedWorker worker{line.substr(0, space), space == line.npos ? "" : line.substr(space + 1)};
    if (Status status = check(worker); !status.ok())
      return status.at((path_ / kWorkersFile).string());
    workers.push_back(std::move(worker));
  }
  return workers;
}

Status ClusterFolder::add(const ListedWorker& worker) const {
  SHOAL_TRY(check(worker));
  // Read, change and write under one lock: two processes may enrol workers at the same time.
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(path_));
  SHOAL_ASSIGN(std::vector<ListedWorker> all, workers());
  const auto known = std::ranges::find(all, worker.name, &ListedWorker::name);
  if (known == all.end()) {
    all.push_back(worker);
  } else {
    *known = worker;
  }
  return write(all);
}

Status ClusterFolder::unlist(std::string_view name) const {
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(path_));
  SHOAL_ASSIGN(std::vector<ListedWorker> all, workers());
  if (std::erase_if(all, [&](const ListedWorker& worker) { return worker.name == name; }) == 0)
    return Status(Code::kNotFound, "no worker " + printable(name) + " is listed");
  return write(all);
}

Status ClusterFolder::remove(const std::string& name, net::Time now) const {
  if (name == kCoordinatorName) return invalid("this folder's own identity cannot be removed");
  Status revoked(Code::kNotFound, "the key of the authority is not here");
  if (net::Authority::is_in(path_)) {
    SHOAL_ASSIGN(const net::Authority authority, net::Authority::open(path_));
    revoked = authority.revoke(name, now).status();
    if (!revoked.ok() && revoked.code() != Code::kNotFound) return revoked;
  }
  const Status unlisted = unlist(name);
  // A member need not be listed, and one that is listed need not be known here: either will do.
  return unlisted.code() == Code::kNotFound && revoked.ok() ? Status() : unlisted;
}

Result<std::vector<MemberState>> ClusterFolder::members() const {
  SHOAL_ASSIGN(const net::Authority authority, this->authority());
  SHOAL_ASSIGN(const std::vector<net::Member> known, net::Authority::members_in(path_));
  SHOAL_ASSIGN(const net::DenyList denied, authority.denied());
  std::vector<MemberState> members;
  for (const net::Member& member : known)
    members.push_back({member.name, member.role, member.validity.to, false});
  for (const net::DeniedPeer& peer : denied.peers())
    members.push_back({peer.name, peer.role, net::Time(std::chrono::seconds(peer.until)), true});
  return members;
}

Result<uint64_t> ClusterFolder::next_epoch(uint64_t beyond) const {
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(path_));
  uint64_t epoch = 0;
  std::error_code ignored;
  if (fs::exists(path_ / kEpochFile, ignored)) {
    SHOAL_ASSIGN(const std::string text, read_sealed(path_ / kEpochFile));
    if (!(std::istringstream(text) >> epoch)) {
      return Status(Code::kCorrupt, (path_ / kEpochFile).string() + " holds no number");
    }
  }
  // Compared without an overflow: the number comes from a worker.
  if (beyond > epoch && beyond - epoch > kMostEpochsAhead) {
    return invalid("no coordinator of this cluster has counted to epoch " + std::to_string(beyond));
  }
  epoch = std::max(epoch, beyond);
  // Written before use: two coordinators never get the same epoch, and a crash only skips one.
  SHOAL_TRY(write_sealed(path_ / kEpochFile, std::to_string(++epoch) + "\n"));
  return epoch;
}

Status ClusterFolder::write(const std::vector<ListedWorker>& workers) const {
  std::string text;
  for (const ListedWorker& worker : workers) text += worker.name + " " + worker.address + "\n";
  return write_sealed(path_ / kWorkersFile, text);
}

}  // namespace shoal::cluster
