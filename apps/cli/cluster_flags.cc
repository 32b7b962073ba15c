// Flags for a cluster of equal devices, or the file that describes another one.
#include "cluster_flags.h"

#include "shoal/config/cluster_file.h"
#include "shoal/plan/device_presets.h"

namespace shoal::cli {
namespace {

template <class Known>
std::string names_of(std::span<const Known> all) {
  std::string names;
  for (const Known& known : all) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace

std::string known_devices() { return names_of(plan::device_presets()); }
std::string known_links() { return names_of(plan::link_presets()); }

void ClusterFlags::add_to(Command& command) {
  Option* path =
      command.add_option("cluster", file, "TOML file in place of --workers, --device and --link");
  command.add_setting("--workers", workers, "How many workers", in_range(1, 4096))->excludes(path);
  command.add_setting("--device", device, "What they are: " + known_devices())->excludes(path);
  command.add_setting("--link", link, "What links them: " + known_links())->excludes(path);
}

Result<plan::ClusterProfile> make_cluster(const ClusterFlags& flags) {
  if (!flags.file.empty()) return config::read_cluster(flags.file);
  SHOAL_ASSIGN(const plan::DevicePreset device, plan::find_device(flags.device));
  SHOAL_ASSIGN(const plan::LinkPreset link, plan::find_link(flags.link));
  return plan::uniform_cluster(flags.workers, device, link);
}

}  // namespace shoal::cli
