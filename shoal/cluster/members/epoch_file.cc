#include "shoal/cluster/members/epoch_file.h"

#include <sstream>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/cluster/messages/sealed_file.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

// The version before, for when the file is damaged.
fs::path old_of(const fs::path& path) { return path.string() + ".old"; }

Result<Epoch> read_epoch(const fs::path& path) {
  SHOAL_ASSIGN(const std::string text, read_sealed(path));
  Epoch epoch;
  std::istringstream in(text);
  if (in >> epoch.number >> epoch.in_charge) {
    if (!(in >> epoch.nonce)) epoch.nonce = 0;  // files of earlier versions have none
    return epoch;
  }
  return Status(Code::kCorrupt, path.string() + " holds no epoch");
}

}  // namespace

Status check_claim(const Epoch& latest, const Epoch& claimed) {
  const std::string number = std::to_string(claimed.number);
  if (claimed.number < latest.number) {
    return invalid("a coordinator of epoch " + number + " is out of date: " + latest.in_charge +
                   " of epoch " + std::to_string(latest.number) + " is in charge");
  }
  const bool is_known = latest.nonce != 0 && claimed.number == latest.number;
  if (is_known && claimed.nonce != latest.nonce) {
    return invalid("another coordinator, " + latest.in_charge + ", is in charge in epoch " +
                   number + ", too");
  }
  if (claimed.number - latest.number > kMostEpochsAhead) {
    return invalid("epoch " + number + " is too far ahead of " + std::to_string(latest.number));
  }
  return {};
}

Result<EpochFile> EpochFile::open(const fs::path& path) {
  remove_abandoned(path.parent_path());
  Result<Epoch> latest = read_epoch(path);
  if (latest.status().code() == Code::kCorrupt) {
    // A power cut leaves it whole, so the disk is damaged. A device that cannot be started any more
    // would be worse than one that follows an older coordinator until a newer one says hello.
    latest = read_epoch(old_of(path));
    if (latest.status().code() == Code::kCorrupt) latest = Epoch{};
  }
  if (latest.status().code() == Code::kNotFound) latest = Epoch{};
  if (!latest.ok()) return latest.status();
  return EpochFile(path, *std::move(latest));
}

Status EpochFile::keep(Epoch epoch) {
  std::error_code ignored;
  fs::remove(old_of(path_), ignored);
  fs::create_hard_link(path_, old_of(path_), ignored);
  // Disk before memory: after a crash, the worker must not follow an older coordinator.
  SHOAL_TRY(write_sealed(path_, std::to_string(epoch.number) + " " + epoch.in_charge + " " +
                                    std::to_string(epoch.nonce) + "\n"));
  latest_ = std::move(epoch);
  return {};
}

}  // namespace shoal::cluster
