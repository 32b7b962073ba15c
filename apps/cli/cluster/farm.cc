#include "farm.h"

#include <unistd.h>

#include <system_error>

namespace shoal::cli {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "shoal-workers-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return Status(Code::kExhausted, "cannot make a temporary folder");
  }
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

namespace {

// An address of this machine that is nobody else's: on 127.0.0.1 the port of a worker that was
// killed may become that of another's connection before it is started again.
std::string own_loopback(size_t worker) {
  constexpr size_t kFirst = 64;
  const auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(kFirst + worker % kFirst) + "." + std::to_string(pid >> 8 & 255) +
         "." + std::to_string(pid & 255);
}

}  // namespace

Status WorkerFarm::start(const std::vector<std::string>& names,
                         const std::function<bool()>& enough) {
  const net::Time now = std::chrono::system_clock::now();
  SHOAL_ASSIGN(const auto owner, cluster::ClusterFolder::create(folder_ / "cluster", now));
  SHOAL_ASSIGN(const net::Authority authority, owner.authority());
  for (const std::string& name : names) {
    SHOAL_ASSIGN(const net::Identity identity, authority.issue(name, now));
    SHOAL_TRY(net::save(identity, folder_ / name));
    workers_.push_back({name, own_loopback(workers_.size()) + ":0", {}});
    SHOAL_TRY(start_one(workers_.back()));
  }
  for (Worker& worker : workers_) {
    if (enough()) return Status(Code::kUnavailable, "ended before all workers were there");
    SHOAL_TRY(wait_for(worker).at("worker " + worker.name));
    SHOAL_TRY(owner.add({worker.name, worker.address}));
  }
  return {};
}

Status WorkerFarm::start_one(Worker& worker) const {
  worker.process.clear();  // has ended when the next one asks for its port
  Child::Options options;
  options.pipe = true;
  std::vector<std::string> words = {own_path(), "worker",      "--dir", (folder_ / worker.name),
                                    "--listen", worker.address};
  words.insert(words.end(), flags_.begin(), flags_.end());
  if (keep_weights_) {
    words.insert(words.end(), {"--store", folder_ / worker.name / "weights"});
  }
  SHOAL_ASSIGN(Child process, Child::start(words, options));
  worker.process.push_back(std::move(process));
  return {};
}

// "ready NAME ADDRESS"
Status WorkerFarm::wait_for(Worker& worker) {
  constexpr std::chrono::seconds kTimeout{60};
  SHOAL_ASSIGN(const std::string line, worker.process.front().read_line(kTimeout));
  const std::string expected = "ready " + worker.name + " ";
  if (!line.starts_with(expected)) return Status(Code::kInternal, "it says: " + line);
  worker.address = line.substr(expected.size());
  return {};
}

void WorkerFarm::signal(size_t worker, int number) {
  workers_[worker].process.front().send_signal(number);
}

Status WorkerFarm::restart(size_t worker) {
  SHOAL_TRY(start_one(workers_[worker]));
  return wait_for(workers_[worker]).at("worker " + workers_[worker].name);
}

}  // namespace shoal::cli
