// EpochFile: the latest epoch that a worker followed, for when it is started again: a coordinator
// that is out of date stays so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shoal/base/status.h"

namespace shoal::cluster {

struct Epoch {
  uint64_t number = 0;
  std::string in_charge;  // whose it is

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

class EpochFile {
 public:
  // kCorrupt where it is damaged: who does not know whom it followed must not guess.
  static Result<EpochFile> open(const std::filesystem::path& path);

  const Epoch& latest() const { return latest_; }
  Status keep(Epoch epoch);

 private:
  EpochFile(std::filesystem::path path, Epoch latest)
      : path_(std::move(path)), latest_(std::move(latest)) {}

  std::filesystem::path path_;
  Epoch latest_;
};

}  // namespace shoal::cluster
