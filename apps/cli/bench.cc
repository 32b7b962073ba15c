// shoal bench: how fast a model runs here.
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>

#include "cli.h"
#include "cluster/cluster_bench.h"
#include "exit_codes.h"
#include "facts.h"
#include "model.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/engine/gpu/device/registry.h"
#include "shoal/train/run/loop/training_bench.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kExamples = R"(
Examples:
  shoal bench zoo:mobilenetv2 --threads 1
  shoal bench model.onnx --seconds 10 --json
  shoal bench model.onnx --clients 4 --threads 1   requests per second of four callers
  shoal bench zoo:vgg16 --cluster              split over workers, beside the best one alone
  shoal bench model.onnx --shape input=8x3x32x32
  shoal bench zoo:lenet5 --train --batch 64    one step of training
  shoal bench zoo:vgg16 --device opencl:0 --batch 64 --precision fp16   on a GPU
  shoal bench zoo:vgg16cifar --train --batch 128 --device opencl:0 --json   training there
  yes 2 | head -5 | shoal bench model.onnx --turns  five times two seconds)";

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> shapes;
  double seconds = 3;
  bool json = false;
  bool turns = false;
  size_t clients = 0;  // 0: one caller, for timing runs
  bool train = false;
  int64_t batch = 0;  // 0: as the model declares it, or 64 with --train
  std::string precision = "fp32";
  double budget = 1;  // percentage points of accuracy
  bool bf16 = false;
  bool update_on_device = false;
  ClusterBenchFlags cluster;
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The work that is measured: a run of the model, or a step of training.
using Work = std::function<Status()>;

Result<LatencyRecorder> measure_for(double seconds, const Work& work) {
  ProgressBar progress("bench", static_cast<size_t>(seconds * 10));
  return time_runs(std::chrono::duration<double>(seconds), work,
                   [&](double passed) { progress.at(static_cast<size_t>(passed * 10)); });
}

// The program that writes lines on standard input can let several engines take turns.
Outcome take_turns(const Work& work, const fit::BenchFacts& known) {
  const auto measure = [&](double seconds) -> Status {
    SHOAL_ASSIGN(const auto times, measure_for(seconds, work));
    print_facts(facts_of(known, times), true);
    std::fflush(stdout);
    return {};
  };
  SHOAL_TRY_OR_EXIT(Exit::kDevice, fit::take_turns(std::cin, work, measure));
  return {};
}

// After `open_ms`, in which all was made ready for the first run. `more` is asked what a run takes
// after that one.
Outcome measure(const BenchFlags& flags, const Device& device, const Work& work, double open_ms,
                const std::function<Result<fit::BenchWork>()>& more) {
  const auto begin = Clock::now();
  // The first run of a model compiles for the inputs' shapes.
  if (const Status first = work(); !first.ok()) return fail(Exit::kModel, first);
  fit::BenchFacts known{flags.model.model, device.info(), open_ms, open_ms + ms_since(begin)};
  SHOAL_OR_EXIT(known.work, Exit::kDevice, more());
  if (flags.turns) return take_turns(work, known);
  SHOAL_OR_EXIT(const auto times, Exit::kDevice, measure_for(flags.seconds, work));
  print_facts(facts_of(known, times), flags.json);
  if (const std::string warning = fit::warning_of(times); !flags.json && !warning.empty()) {
    std::fprintf(stderr, "%s\n", warning.c_str());
  }
  return {};
}

Result<Session> open(const BenchFlags& flags, Device& device) {
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  return fit::session_for_batch(model, flags.batch, device, {.optimize = flags.model.optimize});
}

Outcome bench_model(const BenchFlags& flags, Device& device, const Json& known = Json::object()) {
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(Session session, Exit::kModel, open(flags, device));
  const double open_ms = ms_since(begin);
  SHOAL_OR_EXIT(const auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const auto work = [&]() -> Result<fit::BenchWork> {
    SHOAL_ASSIGN(fit::BenchWork all, fit::work_of(session, inputs, device));
    all.json.update(known);
    return all;
  };
  return measure(
      flags, device, [&] { return session.run(inputs).status(); }, open_ms, work);
}

// Several threads on one session, each with one request after the other.
Outcome bench_clients(const BenchFlags& flags, Device& device) {
  SHOAL_OR_EXIT(Session session, Exit::kModel, open_session(flags.model, device));
  SHOAL_OR_EXIT(const auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const Work request = [&] { return session.run(inputs).status(); };
  // Compiles, and makes the memory of as many runs as there are clients.
  const auto warm = run_closed_loop(flags.clients, std::chrono::seconds(0), request);
  if (!warm.ok()) return fail(Exit::kModel, warm.status());
  SHOAL_OR_EXIT(
      const LoadReport report, Exit::kDevice,
      run_closed_loop(flags.clients, std::chrono::duration<double>(flags.seconds), request));
  print_facts(fit::facts_of(flags.model.model, device.info(), flags.clients, report), flags.json);
  return {};
}

Outcome bench_training(const BenchFlags& flags, Device& device) {
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  const int64_t batch = flags.batch > 0 ? flags.batch : fit::TrainingBench::kUsualBatch;
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, fit::load_for_batch(model, batch));
  SHOAL_OR_EXIT(
      fit::TrainingBench training, Exit::kModel,
      fit::TrainingBench::create(device, loaded.graph,
                                 {flags.model.memory_limit(), flags.bf16, flags.update_on_device}));
  return measure(
      flags, device, [&] { return training.step(); }, ms_since(begin),
      [&] { return training.work(); });
}

// With the layers in f16 that the budget allows.
Outcome bench_automatic(const BenchFlags& flags) {
  const auto open_on = [&](Device& device) { return open(flags, device); };
  SHOAL_OR_EXIT(const InputShapes shapes, Exit::kDevice, parse_input_shapes(flags.shapes));
  SHOAL_OR_EXIT(const AutomaticPrecision found, Exit::kDevice,
                choose_precision(gpu::with_precision(flags.model.device), flags.budget / 100,
                                 shapes, open_on, same_answers(shapes)));
  return bench_model(flags, *found.device, to_json(found));
}

Outcome bench(const BenchFlags& flags) {
  if (flags.cluster.plan.is_on_cluster()) {
    ClusterBenchFlags there = flags.cluster;
    there.plan.model = flags.model.model;
    there.plan.shapes = flags.shapes;
    there.plan.local_device = flags.model.device;
    there.seconds = flags.seconds;
    there.json = flags.json;
    return bench_cluster(there);
  }
  if (flags.model.memory_limit() > 0 && !flags.train) {
    return {Exit::kUsage, "--memory with a size is for --train"};
  }
  ModelFlags model = flags.model;
  SHOAL_OR_EXIT(model.device, Exit::kUsage, gpu::in_precision(model.device, flags.precision));
  if (flags.precision == "auto") return bench_automatic(flags);
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(model));
  if (flags.clients > 0) return bench_clients(flags, *device);
  return flags.train ? bench_training(flags, *device) : bench_model(flags, *device);
}

}  // namespace

void add_bench(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "bench", "Measure how fast a model runs on random inputs", kExamples, bench);
  flags.model.add_to(command, /*model_required=*/true, /*learns=*/true);
  command.add_option("--shape", flags.shapes, "NAME=1x3x224x224 for inputs of open size");
  command.add_option("--seconds", flags.seconds, "How long to measure", in_range(0.0, 3600.0));
  command.add_flag("--json", flags.json, "Print one JSON object");
  command.add_flag("--turns", flags.turns,
                   "Print one JSON object for each line of standard input, measured for as many "
                   "seconds as it says");
  Option* train =
      command.add_flag("--train", flags.train, "Measure a step of training: SGD, labels");
  command.add_option("--batch", flags.batch,
                     "Images at once; as the model declares it, and 64 with --train",
                     in_range(1, 4096));
  command.add_setting(
      "--precision", flags.precision,
      "How a GPU stores elements: fp32, fp16, or auto, which chooses for each layer",
      one_of({"fp32", "fp16", "auto"}));
  command.add_setting(
      "--accuracy-budget", flags.budget,
      "With --precision auto: how many of 100 random inputs may be answered otherwise "
      "than in fp32",
      in_range(0.0, 100.0));
  const FlagGroup training(command, "", train);
  training.add_flag("--bf16", flags.bf16, "Keep activations in half the memory");
  training.add_flag("--update-on-device", flags.update_on_device,
                    "Let the optimiser's update be a part of the step's graph, as it is on GPUs");
  Option* cluster = flags.cluster.plan.add_cluster_to(command);
  command
      .add_option("--clients", flags.clients,
                  "Let so many threads share the session: requests per second, p50 and p99",
                  in_range(1, 1024))
      ->excludes(train)
      ->excludes(cluster);
  const FlagGroup there(command, "", cluster);
  there.add_option("--html,--report", flags.cluster.html,
                   "Write a picture: who computed and sent what when");
  there.add_flag("--balance", flags.cluster.balance,
                 "Of a stream: deal layers out evenly, then move work while requests are answered");
  there.add_option("--stragglers", flags.cluster.stragglers,
                   "With --survive, on emulated workers: one of them, drawn for every request, is "
                   "so many times slower; beside a plan of one worker fewer that waits for all",
                   in_range(1.0, 1000.0));
  there.add_option("--while-deploying", flags.cluster.deployed,
                   "Let this model answer while that one is deployed, and measure both");
  there.add_flag("--strict", flags.cluster.strict,
                 "Fail (exit code 8) where this machine is too busy for the emulated devices, "
                 "instead of measuring in slower motion");
}

}  // namespace shoal::cli
