// shoal chaos: what becomes of requests while workers are killed, stopped and cut off.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>

#include "../model.h"
#include "../print_found.h"
#include "../progress.h"
#include "chaos_train.h"
#include "shoal/base/atomic_file.h"
#include "shoal/base/malloc_arenas.h"
#include "shoal/base/process.h"
#include "shoal/chaos/processes/chaos_page.h"
#include "shoal/chaos/processes/chaos_workers.h"
#include "shoal/chaos/processes/facts.h"
#include "shoal/chaos/simulated/history.h"
#include "shoal/config/cluster_file.h"
#include "shoal/cpu/cpu.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal chaos --workers 5 --survive 1 --kills 20 --requests 200 --model zoo:mobilenetv2
  shoal chaos --seconds 60                         faults of all kinds, as often as each other; watch
  shoal chaos --seconds 60 --emulate cluster.toml  the same on emulated devices
  shoal chaos --partitions 20 --at computing       while the worker that is cut off computes
  shoal chaos --workers 3 --survive 0 --stops 5    without protection: requests are replayed
  shoal chaos --lies 100 --verify 10 --requests 1500   one worker lies: it is found and left out
  shoal chaos --sim --histories 20000 --seed 1     simulated clusters, faults of all kinds
  shoal chaos --overload 10 --clients 200 --seconds 60 --kills 1   ten times as many requests as
                                                   workers can answer, and a kill every second
  shoal chaos --train --kills 20 --workers 3       workers learn, and are killed meanwhile
  shoal chaos --train --sim --histories 10000      the same simulated; the hub is killed, too
Workers are processes of this machine, and what happens between them does so in these: it takes no
privileges. Points of a request: submitted, input-arrives, piece-arrives, computing, computed,
answer-arrives; of a worker that is folded in again: deploying, ready. A simulated history that
breaks a promise is named by its seed, and happens again with '--histories 1 --seed' and that.)";

struct Flags {
  bool sim = false, train = false;
  ChaosTrainFlags learning;
  uint64_t histories = 1000;
  size_t workers = 5;
  std::string cluster;  // emulated devices in their place: cluster.toml
  double dilation = 0;  // times as slow as the real ones; 0: as needed
  int survive = 1;
  uint64_t lies = 0, verify = 0;
  std::string model = "zoo:digits";
  chaos::ChaosRunOptions run;
  chaos::OverloadOptions overload{.times = 0};  // 0: none
  bool json = false;
  std::string html;
  const Command* command = nullptr;  // to ask which faults were given
};

// What happens, on stderr: stdout is for the report. On a terminal all workers, drawn over what was
// drawn before; elsewhere, where faults go on for a time, a line for each.
class ChaosView {
 public:
  explicit ChaosView(bool says_lines) : says_lines_(says_lines) {}

  void show(const chaos::ChaosProgress& progress) {
    constexpr std::chrono::milliseconds kInterval{100};
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ && says_lines_ && progress.faults != faults_) {
      faults_ = progress.faults;
      std::fprintf(stderr, "%s\n", line_of(progress).c_str());
    } else if (is_terminal_ && now >= last_ + kInterval) {
      last_ = now;
      redraw(lines_of(progress));
    }
  }

 private:
  void redraw(const std::vector<std::string>& lines) {
    std::string text = lines_ > 0 ? "\033[" + std::to_string(lines_) + "A" : "";
    // A line that wraps would not be drawn over.
    const size_t width = terminal_width();
    for (const std::string& line : lines) text += "\r\033[K" + line.substr(0, width) + "\n";
    lines_ = lines.size();
    std::fputs(text.c_str(), stderr);
  }
  static size_t terminal_width() {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
  }

  const bool is_terminal_ = isatty(STDERR_FILENO) != 0, says_lines_;
  std::chrono::steady_clock::time_point last_;
  uint64_t faults_ = 0;  // that were told of
  size_t lines_ = 0;     // that are drawn
};

// Shows how many plans are made while a cluster opens: one for all workers, and one for each set
// with one fewer. Plans are made later, too, after losses. Thread-safe.
class OpeningProgress {
 public:
  void planned(size_t workers) {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (!bar_) bar_.emplace("start, plan, deploy", workers + 2);
    bar_->at(++count_);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    bar_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<ProgressBar> bar_;
  size_t count_ = 0;
  bool is_over_ = false;
};

Outcome simulate(const Flags& flags) {
  std::optional<ProgressBar> bar(std::in_place, "histories", flags.histories);
  const chaos::Campaign campaign =
      chaos::live_through(flags.run.seed, flags.histories, [&](uint64_t done) { bar->at(done); });
  bar.reset();
  print_facts(facts_of(campaign), flags.json);
  return outcome_of(campaign.verdict());
}

Outcome overload(const Flags& flags, chaos::ChaosCluster& cluster) {
  chaos::FaultKinds kinds;
  const chaos::OverloadReport report =
      chaos::overload_cluster(flags.overload, flags.run, cluster, kinds);
  print_found(flags.json, report, kinds);
  return outcome_of(report.verdict());
}

Outcome run_on_processes(const Flags& flags) {
  use_one_malloc_arena();
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(flags.model, {}));
  SHOAL_OR_EXIT(const Graph graph, Exit::kModel, passes::optimize(loaded.graph));
  chaos::ChaosWorkers workers{.processes = flags.workers, .survive = flags.survive};
  if (!flags.cluster.empty()) {
    SHOAL_OR_EXIT(workers.devices, Exit::kUsage, config::read_cluster(flags.cluster));
  }
  OpeningProgress opening;
  const size_t count = flags.cluster.empty() ? flags.workers : workers.devices.workers.size();
  workers.on_plan = [&] { opening.planned(count); };
  std::atomic<double> predicted_ms = 0;  // of a request without faults, on emulated devices
  SHOAL_OR_EXIT(const auto options, Exit::kUsage,
                with_workers({.program = executable_path(),
                              .seed = flags.run.seed,
                              .cluster_file = flags.cluster,
                              .dilation = flags.dilation,
                              .lies = flags.lies,
                              .verify = flags.verify},
                             workers, graph, predicted_ms));
  const auto device = make_cpu_device({.threads = 1});
  const auto cluster = chaos::ChaosCluster::open(graph, *device, options);
  opening.end();
  if (!cluster.ok()) return fail(Doing::kTalk, cluster.status());
  if (!flags.cluster.empty()) {
    std::fprintf(stderr, "%zu emulated devices, %g times as slow as the real ones\n", count,
                 options.dilation);
  }
  if (flags.overload.times > 0) return overload(flags, **cluster);
  ChaosView view(flags.run.seconds > 0);
  const chaos::ChaosReport report = chaos::run_chaos(
      flags.run, **cluster, [&](const chaos::ChaosProgress& progress) { view.show(progress); });
  print_found(flags.json, report);
  if (!flags.html.empty()) {
    const Status written =
        write_file(flags.html, chaos::chaos_page(flags.model + " under faults", report));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  const std::string late = predicted_ms > 0 ? note_lateness(report, predicted_ms) : "";
  if (!late.empty()) std::fprintf(stderr, "%s\n", late.c_str());
  return outcome_of(report.verdict(flags.lies > 0 && flags.verify > 0));
}

void add_counts(Command& command, chaos::FaultCounts& counts) {
  const auto add = [&](const char* name, size_t& count, const char* help) {
    command.add_option(name, count, help, in_range(0, 1'000'000))->group("Faults");
  };
  add("--kills", counts.kills,
      "Times that a worker is killed and started again; 10 if nothing else is asked for");
  add("--stops", counts.stops, "Times that one is stopped for a while");
  add("--slows", counts.slows, "Times that one is slowed down for a while");
  add("--partitions", counts.partitions,
      "Times that one is cut off: one way, both ways or on and off, from one machine or all");
  add("--delays", counts.delays, "Times that all comes late to one and from it, for a while");
  add("--breaks", counts.drops, "Times that a connection of one breaks");
  add("--corruptions", counts.corruptions, "Times that bytes to one or from it are damaged");
}

bool names_faults(const Command& command) {
  return std::ranges::any_of(command.options(), [](const Option* option) {
    return option->group() == "Faults" && option->count() > 0;
  });
}

std::vector<std::string> places() {
  std::vector<std::string> names = {chaos::kAnywhere, chaos::kAnyMoment};
  names.insert(names.end(), cluster::kFaultPointNames.begin(), cluster::kFaultPointNames.end());
  return names;
}

void add_flags(Command& command, Flags& flags) {
  Option* workers = command.add_setting("--workers", flags.workers, "Processes", in_range(1, 64));
  Option* emulated =
      command
          .add_option("--emulate", flags.cluster, "Emulated devices in their place: cluster.toml",
                      existing_file())
          ->excludes(workers);
  command
      .add_option("--dilate", flags.dilation, "Times as slow as the real ones; 0: as needed",
                  in_range(0.0, 1e6))
      ->needs(emulated);
  command.add_setting("--survive", flags.survive, "Losses at once that plans are made for",
                      in_range(0, 2));
  command.add_option("--verify", flags.verify,
                     "Check one request of so many for lies, and leave liars out; 0: none",
                     in_range(0, 1'000'000'000));
  add_counts(command, flags.run.faults);
  command
      .add_option("--lies", flags.lies,
                  "The last worker flips a bit of every so-many-th of its results; 0: of none",
                  in_range(0, 1'000'000'000))
      ->group("Faults");
  command.add_setting("--at", flags.run.where, "Where in a request, or in the return of a worker",
                      one_of(places()));
  command.add_option("--seconds", flags.run.seconds,
                     "Faults for so long, whatever their number and that of requests",
                     in_range(0.0, 1e7));
  Option* overload =
      command.add_option("--overload", flags.overload.times,
                         "Requests in place of others: so many times as many as workers can answer",
                         in_range(1.0, 1000.0));
  command.add_setting("--clients", flags.overload.clients, "That send these", in_range(1, 10'000))
      ->needs(overload);
  command.add_setting("--requests", flags.run.requests, "Requests that meet these",
                      in_range(1, 100'000'000));
  command.add_setting("--seed", flags.run.seed, "From which everything is drawn");
  command.add_setting("--model", flags.model, "ONNX file or zoo:NAME");
}

Outcome run(Flags& flags) {
  if (flags.run.seconds > 0) flags.overload.seconds = flags.run.seconds;
  // Overload alone is a fault already.
  const bool is_overload = flags.overload.times > 0;
  if (!is_overload && !names_faults(*flags.command)) {
    flags.run.faults = chaos::FaultCounts::usual(flags.run.seconds > 0);
  }
  if (!flags.html.empty() && (flags.sim || is_overload)) {
    return {Exit::kUsage, "--html shows faults of processes, not --sim or --overload"};
  }
  if (!flags.train) return flags.sim ? simulate(flags) : run_on_processes(flags);
  flags.learning.model = flags.model;
  flags.learning.workers = flags.workers;
  flags.learning.kills = flags.run.faults.kills;
  flags.learning.seed = flags.run.seed;
  flags.learning.json = flags.json;
  return flags.sim ? train_in_histories(flags.learning, flags.histories)
                   : train_on_processes(flags.learning);
}

}  // namespace

void add_chaos(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "chaos", "See what becomes of requests while workers fail", kExamples, run);
  flags.command = &command;
  add_flags(command, flags);
  command.add_flag("--sim", flags.sim, "Simulated clusters, in virtual time");
  command.add_setting("--histories", flags.histories, "How many of them", in_range(1, 100'000'000));
  Option* train = command.add_flag("--train", flags.train,
                                   "Workers learn a network, in place of answering requests");
  command
      .add_setting(
          "--codec", flags.learning.codec, "How their gradients travel, as in shoal train",
          one_of({"f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"}))
      ->needs(train);
  command.add_flag("--json", flags.json, "Print one JSON object");
  command.add_option("--html", flags.html,
                     "Write a page about the faults and what became of requests");
}

}  // namespace shoal::cli
