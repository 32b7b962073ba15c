#include "shoal/cluster/emulate/workers/local_workers.h"

#include <unistd.h>

namespace shoal::cluster {
namespace {

// A loopback address that no other process uses. On 127.0.0.1, another connection might take the
// port of a killed worker before the worker is started again.
std::string own_loopback(size_t worker) {
  constexpr size_t kFirst = 64;
  const auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(kFirst + worker % kFirst) + "." + std::to_string(pid >> 8 & 255) +
         "." + std::to_string(pid & 255);
}

}  // namespace

Status LocalWorkers::start(const std::vector<std::string>& names,
                           const std::function<bool()>& is_cancelled) {
  const net::Time now = std::chrono::system_clock::now();
  SHOAL_ASSIGN(const auto owner, ClusterFolder::create(options_.folder / "cluster", now));
  SHOAL_ASSIGN(const net::Authority authority, owner.authority());
  for (const std::string& name : names) {
    SHOAL_ASSIGN(const net::Identity identity, authority.issue(name, now));
    SHOAL_TRY(net::save(identity, options_.folder / name));
    workers_.push_back({name, own_loopback(workers_.size()) + ":0", {}});
    SHOAL_TRY(start_one(workers_.back()));
  }
  for (Worker& worker : workers_) {
    if (is_cancelled()) return Status(Code::kUnavailable, "ended before all workers were there");
    SHOAL_TRY(wait_until_ready(worker).at("worker " + worker.name));
    SHOAL_TRY(owner.add({worker.name, worker.address}));
  }
  return {};
}

Status LocalWorkers::start_one(Worker& worker) const {
  worker.process.reset();  // has ended when the next one asks for its port
  const std::filesystem::path folder = options_.folder / worker.name;
  std::vector<std::string> words = {options_.program, "worker",       "--dir",  folder,
                                    "--listen",       worker.address, "--quiet"};
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  if (options_.keep_weights) words.insert(words.end(), {"--store", folder / "weights"});
  SHOAL_ASSIGN(Process process, Process::start(words, {.pipe_output = true}));
  worker.process.emplace(std::move(process));
  return {};
}

// Reads the line "ready NAME ADDRESS" that a worker prints, and learns the port that it was given.
Status LocalWorkers::wait_until_ready(Worker& worker) {
  constexpr std::chrono::seconds kTimeout{60};
  SHOAL_ASSIGN(const std::string line, worker.process->read_line(kTimeout));
  const std::string expected = "ready " + worker.name + " ";
  if (!line.starts_with(expected)) return Status(Code::kInternal, "it says: " + line);
  worker.address = line.substr(expected.size());
  return {};
}

void LocalWorkers::send_signal(size_t worker, int number) {
  if (auto& process = workers_[worker].process) process->send_signal(number);
}

Status LocalWorkers::restart(size_t worker) {
  SHOAL_TRY(start_one(workers_[worker]));
  return wait_until_ready(workers_[worker]).at("worker " + workers_[worker].name);
}

}  // namespace shoal::cluster
