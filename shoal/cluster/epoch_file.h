// EpochFile: keeps the latest epoch that a worker has followed, so that a worker that is started
// again still refuses coordinators that are out of date.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shoal/base/status.h"

namespace shoal::cluster {

struct Epoch {
  uint64_t number = 0;
  std::string in_charge;  // name of the coordinator whose epoch it is

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

// Not thread-safe: the worker guards it.
class EpochFile {
 public:
  // Epoch 0 if there is no file. If it is damaged, the epoch before, or else 0: a device has to
  // start.
  static Result<EpochFile> open(const std::filesystem::path& path);

  const Epoch& latest() const { return latest_; }
  Status keep(Epoch epoch);  // on disk when it returns

 private:
  EpochFile(std::filesystem::path path, Epoch latest)
      : path_(std::move(path)), latest_(std::move(latest)) {}

  std::filesystem::path path_;
  Epoch latest_;
};

}  // namespace shoal::cluster
