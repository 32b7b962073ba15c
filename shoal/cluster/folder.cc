#include "shoal/cluster/folder.h"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "shoal/base/hash.h"
#include "shoal/base/printable.h"
#include "shoal/net/address.h"
#include "shoal/net/certificate.h"
#include "shoal/net/text_file.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkersFile = "workers";  // a line each: NAME ADDRESS
constexpr const char* kCoordinatorFolder = "coordinator";
constexpr const char* kCoordinatorName = "coordinator";

constexpr const char* kEpochFile = "epoch";
constexpr std::string_view kSeal = "# checksum ";  // the last line, of what is before it

std::string seal_of(std::string_view text) {
  return std::string(kSeal) + std::to_string(shoal::hash_of(std::as_bytes(std::span(text)))) + "\n";
}

Status write_sealed(const fs::path& path, const std::string& text) {
  return net::write_text(path, text + seal_of(text));
}

// Without the seal, which files of earlier versions do not have.
Result<std::string> read_sealed(const fs::path& path) {
  SHOAL_ASSIGN(std::string text, net::read_text(path));
  const size_t seal = text.rfind(kSeal);
  if (seal == text.npos) return text;
  if (text.substr(seal) != seal_of(std::string_view(text).substr(0, seal))) {
    return Status(Code::kCorrupt, path.string() + " is damaged: its checksum is wrong");
  }
  text.resize(seal);
  return text;
}

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
  SHOAL_ASSIGN(std::vector<ListedWorker> all, workers());
  if (std::erase_if(all, [&](const ListedWorker& worker) { return worker.name == name; }) == 0)
    return Status(Code::kNotFound, "no worker " + printable(name) + " is listed");
  return write(all);
}

Result<uint64_t> ClusterFolder::next_epoch() const {
  uint64_t epoch = 0;
  std::error_code ignored;
  if (fs::exists(path_ / kEpochFile, ignored)) {
    SHOAL_ASSIGN(const std::string text, read_sealed(path_ / kEpochFile));
    if (!(std::istringstream(text) >> epoch)) {
      return Status(Code::kCorrupt, (path_ / kEpochFile).string() + " holds no number");
    }
  }
  SHOAL_TRY(write_sealed(path_ / kEpochFile, std::to_string(++epoch) + "\n"));
  return epoch;
}

Status ClusterFolder::write(const std::vector<ListedWorker>& workers) const {
  std::string text;
  for (const ListedWorker& worker : workers) text += worker.name + " " + worker.address + "\n";
  return write_sealed(path_ / kWorkersFile, text);
}

}  // namespace shoal::cluster
