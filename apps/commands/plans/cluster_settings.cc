#include "apps/commands/plans/cluster_settings.h"

#include <span>

#include "apps/commands/plans/cluster_file.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

template <class Known>
std::string names_of(std::span<const Known> all) {
  std::string names;
  for (const Known& known : all) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace

SettingList settings_of(ClusterSettings& s, const std::string& device, const std::string& count) {
  return {Setting("workers", s.workers, count).in(1, 4096),
          {device, s.device, "What they are: " + names_of(plan::device_presets())},
          {"link", s.link, "What links them: " + names_of(plan::link_presets())}};
}

std::string to_toml(const ClusterSettings& s) {
  const std::string link = "link = \"" + s.link + "\"\n";
  return "[coordinator]\n" + link + "[[worker]]\ndevice = \"" + s.device + "\"\n" + link +
         "count = " + std::to_string(s.workers) + "\n";
}

Result<plan::ClusterProfile> make_cluster(const ClusterSettings& settings) {
  if (!settings.file.empty()) return read_cluster(settings.file);
  SHOAL_ASSIGN(const plan::DevicePreset device, plan::find_device(settings.device));
  SHOAL_ASSIGN(const plan::LinkPreset link, plan::find_link(settings.link));
  return plan::uniform_cluster(settings.workers, device, link);
}

}  // namespace shoal::config
