// Flags of emulation, from the command line or the environment.
#include "emulation_flags.h"

#include "apps/commands/plans/cluster_file.h"

namespace shoal::cli {

void EmulationFlags::add_to(Command& command) {
  const FlagGroup all(command, "Emulation");
  all.add_option("--emulate", file, "Be a device of this cluster.toml, with its links")
      ->envname(kFile);
  all.add_option("--media", media, "Folder through which emulated devices share links")
      ->envname(kMedia);
  all.add_option("--dilate", dilation, "Seconds that pass for every second that is emulated",
                 in_range(0.001, 1e6))
      ->envname(kDilation);
  all.add_flag("--real-deploy", real_deploy, "Send weights over emulated links, too")
      ->envname(kRealDeploy);
}

Result<EmulationFlags> EmulationFlags::of_environment() {
  EmulationFlags flags;
  Command parser("", "");
  flags.add_to(parser);
  if (parser.parse({})) {  // it has said which, by the name of its flag
    return invalid("one of " + std::string(kFile) + ", " + kMedia + ", " + kDilation + " and " +
                   kRealDeploy + " has no meaning");
  }
  return flags;
}

Result<emulate::Emulation> EmulationFlags::make() const {
  emulate::Emulation emulation{{}, media, dilation};
  if (!file.empty()) {
    SHOAL_ASSIGN(emulation.cluster, config::read_cluster(file));
  }
  return emulation;
}

}  // namespace shoal::cli
