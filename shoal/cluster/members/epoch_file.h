// EpochFile: keeps the latest epoch that a worker has followed, so that a restarted worker still
// refuses coordinators that are out of date.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shoal/base/status.h"

namespace shoal::cluster {

struct Epoch {
  uint64_t number = 0;
  std::string in_charge;  // name of the coordinator whose epoch it is
  uint64_t nonce = 0;     // of that coordinator; 0: unknown

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

// A claim may be this much ahead of the epoch that a worker knows. Otherwise a single message with
// the largest number would lock the owner out for ever.
inline constexpr uint64_t kMostEpochsAhead = uint64_t{1} << 20;

// OK iff a worker that followed `latest` should follow `claimed`. Refused are past epochs, the same
// epoch of another coordinator, and numbers that cannot have been counted to.
Status check_claim(const Epoch& latest, const Epoch& claimed);

// Not thread-safe: the worker guards it.
class EpochFile {
 public:
  // Epoch 0 without a file. If it is damaged, the epoch before, or else 0: a device has to start.
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
