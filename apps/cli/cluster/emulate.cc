// shoal emulate: several devices on this machine, each a process, with the speed and the links of
// another.
#include <cstdio>
#include <thread>

#include "../cli.h"
#include "../cluster_flags.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/processes/process.h"
#include "shoal/base/processes/stop_signals.h"
#include "shoal/cluster/emulate/machines/dilation.h"
#include "shoal/cluster/emulate/machines/emulation_settings.h"
#include "shoal/cluster/emulate/workers/local_workers.h"

namespace shoal::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(
Examples:
  shoal emulate                 four Raspberry Pi 4 on a gigabit switch, a small and a large model
  shoal emulate --workers 4 --device nexus5 --link wifi-43.8 -- bench zoo:vgg16 --cluster
  shoal emulate cluster.toml -- run model.onnx --input cat.jpg --cluster
  shoal emulate --workers 8 --device pi4 --dilate 20 -- bench zoo:resnet50 --cluster --json
  shoal emulate --link wifi-43.8 --real-deploy -- bench zoo:lenet5 --cluster --while-deploying zoo:vgg16
Devices take the time that their profiles say, links are as slow as theirs; processes, certificates
and bytes are real. Weights, and examples of training, travel before links are slow, unless
--real-deploy is given. What does not fit on this machine is done in slow motion (--dilate), and
reported in the time of the emulated devices.)";

struct Flags {
  ClusterFlags cluster;
  double dilation = 0;
  bool real_deploy = false;
};

// The flags as the file that they stand for.
Result<fs::path> cluster_file(const ClusterFlags& flags, const fs::path& folder) {
  if (!flags.file.empty()) return fs::absolute(flags.file);
  const fs::path path = folder / "cluster.toml";
  SHOAL_TRY(write_file(path, to_toml(flags)));
  return path;
}

Result<Process> run(const std::vector<std::string>& command,
                    const emulate::EmulationSettings& emulation, const fs::path& cluster) {
  std::vector<std::string> words = {executable_path()};
  words.insert(words.end(), command.begin(), command.end());
  if (command.empty()) words.emplace_back("demo");
  Process::Options options;
  options.environment = emulation.environment();
  options.environment["SHOAL_CLUSTER_DIR"] = cluster.string();
  options.terminal_signals = true;
  return Process::start(words, options);
}

Outcome emulate(const Flags& flags) {
  SHOAL_OR_EXIT(const plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.cluster));
  // The command gets the terminal's signals itself, and ends by them in its own way. There is more
  // to do here from the moment there is a folder.
  ProcessStop ending;
  const StopSignals signals([&] { ending.ask(); });
  SHOAL_OR_EXIT(const TemporaryFolder folder, Exit::kResources, TemporaryFolder::make());
  SHOAL_OR_EXIT(const fs::path file, Exit::kResources, cluster_file(flags.cluster, folder.path()));
  emulate::EmulationSettings emulation{file, folder.path() / "media", flags.dilation,
                                       flags.real_deploy};
  if (flags.dilation <= 0) {
    emulation.dilation = emulate::choose_dilation(cluster, std::thread::hardware_concurrency());
  }
  std::error_code error;
  fs::create_directories(emulation.media, error);
  std::fprintf(stderr, "%zu emulated devices, %g times as slow as the real ones\n",
               cluster.workers.size(), emulation.dilation);
  std::vector<std::string> names;
  for (const plan::WorkerProfile& worker : cluster.workers) names.push_back(worker.name);
  std::vector<std::string> words = emulation.words();
  words.insert(words.end(), {"--threads", "1"});
  cluster::LocalWorkers workers(
      {.program = executable_path(), .folder = folder.path(), .flags = std::move(words)});
  const Status started = workers.start(names, [&] { return ending.asked(); });
  if (!started.ok()) return fail(Exit::kDevice, started);
  SHOAL_OR_EXIT(Process command, Exit::kResources,
                run(words_after_dashes(), emulation, workers.owner().path()));
  ending.concerns(command);
  const int code = command.wait();
  ending.is_over();
  return {static_cast<Exit>(code),
          code == 0 ? "" : "the command ended with " + std::to_string(code)};
}

}  // namespace

void add_emulate(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "emulate",
                  "Run a command on several devices emulated on this machine", kExamples, emulate);
  flags.cluster.add_to(command);
  command.add_setting("--dilate", flags.dilation, "Times as slow as the real ones; 0: as needed",
                      in_range(0.0, 1e6));
  command.add_flag("--real-deploy", flags.real_deploy,
                   "Send weights, and examples of training, over the emulated links, too: that may "
                   "take minutes");
}

}  // namespace shoal::cli
