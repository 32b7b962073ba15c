#include "shoal/cluster/emulate/machines/emulation_settings.h"

namespace shoal::emulate {

std::vector<std::string> EmulationSettings::words() const {
  std::vector<std::string> words = {"--media", media};
  if (!file.empty()) {
    words.insert(words.end(), {"--emulate", file, "--dilate", std::to_string(dilation)});
  }
  return words;
}

std::map<std::string, std::string> EmulationSettings::environment() const {
  std::map<std::string, std::string> variables = {
      {kFile, file}, {kMedia, media}, {kDilation, std::to_string(dilation)}};
  if (real_deploy) variables[kRealDeploy] = "true";
  return variables;
}

}  // namespace shoal::emulate
