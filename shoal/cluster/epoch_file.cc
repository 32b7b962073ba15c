#include "shoal/cluster/epoch_file.h"

#include <sstream>
#include <utility>

#include "shoal/base/atomic_file.h"
#include "shoal/cluster/sealed_file.h"

namespace shoal::cluster {

Result<EpochFile> EpochFile::open(const std::filesystem::path& path) {
  remove_abandoned(path.parent_path());
  const Result<std::string> text = read_sealed(path);
  if (text.status().code() == Code::kNotFound) return EpochFile(path, {});
  if (!text.ok()) return text.status();
  Epoch latest;
  if (!(std::istringstream(*text) >> latest.number >> latest.in_charge)) {
    return Status(Code::kCorrupt, path.string() + " holds no epoch");
  }
  return EpochFile(path, std::move(latest));
}

Status EpochFile::keep(Epoch epoch) {
  // Disk before memory: after a crash, the worker must not follow an older coordinator.
  SHOAL_TRY(write_sealed(path_, std::to_string(epoch.number) + " " + epoch.in_charge + "\n"));
  latest_ = std::move(epoch);
  return {};
}

}  // namespace shoal::cluster
