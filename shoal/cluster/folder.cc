#include "shoal/cluster/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

#include "shoal/base/atomic_file.h"
#include "shoal/base/printable.h"
#include "shoal/base/user_folders.h"
#include "shoal/cluster/epoch_file.h"
#include "shoal/cluster/sealed_file.h"
#include "shoal/net/address.h"
#include "shoal/net/tls/certificate.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkersFile = "workers";  // a line each: NAME ADDRESS
constexpr const char* kCoordinatorFolder = "coordinator";
constexpr const char* kCoordinatorName = "coordinator";

constexpr const char* kEpochFile = "epoch";
constexpr const char* kLockFile = "lock";

// Lets one process at a time change the folder, so that each reads what the one before wrote. The
// kernel releases the lock of a process that is killed.
class FolderLock {
 public:
  static Result<FolderLock> take(const fs::path& folder) {
    const fs::path path = folder / kLockFile;
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return system_status(errno).at(path.string());
    FolderLock lock(fd);
    if (::flock(fd, LOCK_EX) != 0) return system_status(errno).at(path.string());
    remove_abandoned(folder);
    return lock;
  }

  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

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
  SHOAL_ASSIGN(const net::Authority authority, net::Authority::create(path, now));
  SHOAL_ASSIGN(const net::Identity identity, authority.issue(kCoordinatorName, now));
  SHOAL_TRY(net::save(identity, path / kCoordinatorFolder));
  return ClusterFolder(path);
}

Result<net::Authority> ClusterFolder::authority() const {
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return no_cluster(path_);
  return net::Authority::open(path_);
}

Result<net::Identity> ClusterFolder::coordinator() const {
  std::error_code ignored;
  if (!fs::exists(path_ / kCoordinatorFolder, ignored)) return no_cluster(path_);
  return net::load_identity(path_ / kCoordinatorFolder);
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

Status ClusterFolder::remove(std::string_view name) const {
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(path_));
  SHOAL_ASSIGN(std::vector<ListedWorker> all, workers());
  if (std::erase_if(all, [&](const ListedWorker& worker) { return worker.name == name; }) == 0)
    return Status(Code::kNotFound, "no worker " + printable(name) + " is listed");
  return write(all);
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
  // Written before it is used: two coordinators never get the same epoch, and a crash only skips
  // one.
  SHOAL_TRY(write_sealed(path_ / kEpochFile, std::to_string(++epoch) + "\n"));
  return epoch;
}

Status ClusterFolder::write(const std::vector<ListedWorker>& workers) const {
  std::string text;
  for (const ListedWorker& worker : workers) text += worker.name + " " + worker.address + "\n";
  return write_sealed(path_ / kWorkersFile, text);
}

}  // namespace shoal::cluster
