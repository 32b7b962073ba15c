// shoal bench: how fast a model runs here.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "cli.h"
#include "cluster/cluster_bench.h"
#include "facts.h"
#include "model.h"
#include "precision.h"
#include "progress.h"
#include "shoal/base/closed_loop.h"
#include "shoal/base/machine.h"
#include "shoal/device/hybrid.h"
#include "shoal/fit/network.h"
#include "shoal/session/layer_profile.h"
#include "shoal/train/step_work.h"
#include "shoal/train/trainer.h"

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
  size_t clients = 0;  // 0: one caller, whose runs are timed
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

double peak_rss_mb() { return static_cast<double>(peak_memory_bytes()) / (1 << 20); }

// The work that is measured: a run of the model, or a step of training.
using Work = std::function<Status()>;

Result<LatencyRecorder> measure_for(double seconds, const Work& work) {
  ProgressBar progress("bench", static_cast<size_t>(seconds * 10));
  return time_runs(std::chrono::duration<double>(seconds), work,
                   [&](double passed) { progress.at(static_cast<size_t>(passed * 10)); });
}

// How much longer half of the runs took than the fastest tenth, as a share: what other programs and
// changing clocks add to times.
double noise_of(const LatencyRecorder& times) {
  return times.quantile(0.5) / times.quantile(0.1) - 1;
}

// What is known of a bench before it measures.
struct Facts {
  Json json;
  double macs = 0;  // of a run; 0: not counted
};

// The facts with a measurement added.
Json with_times(const Facts& facts, const LatencyRecorder& times) {
  Json result = facts.json;
  result["median_ms"] = times.quantile(0.5);
  result["p10_ms"] = times.quantile(0.1);
  result["p90_ms"] = times.quantile(0.9);
  result["noise"] = noise_of(times);
  result["runs"] = times.count();
  // A multiplication and an addition each.
  if (facts.macs > 0) result["tflops"] = 2e-9 * facts.macs / times.quantile(0.5);
  result["peak_rss_mb"] = peak_rss_mb();
  return result;
}

// One measurement per line of standard input, which says how many seconds: the program that writes
// the lines can let several engines take turns. The first run of a turn finds the caches full of
// another engine's data, so it does not count.
Outcome take_turns(const Work& work, const Facts& facts) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const double seconds = std::strtod(line.c_str(), nullptr);
    if (const Status warm_up = work(); !warm_up.ok()) return fail(Exit::kDevice, warm_up);
    SHOAL_OR_EXIT(const auto times, Exit::kDevice, measure_for(seconds, work));
    print_json(with_times(facts, times));
    std::fflush(stdout);
  }
  return {};
}

void print_table(const std::string& model, int threads, double open_ms, double first_ms,
                 const LatencyRecorder& times) {
  Table table({"model", "threads", "median ms", "p10", "p90", "runs", "open ms", "first answer ms",
               "peak RSS MB"});
  table.add({model, std::to_string(threads), fixed(times.quantile(0.5), 3),
             fixed(times.quantile(0.1), 3), fixed(times.quantile(0.9), 3),
             std::to_string(times.count()), fixed(open_ms, 1), fixed(first_ms, 1),
             fixed(peak_rss_mb(), 1)});
  table.print();
  constexpr double kMostNoise = 0.1;
  if (const double noise = noise_of(times); noise > kMostNoise) {
    std::fprintf(
        stderr,
        "this machine is busy: half of the runs took %.0f %% longer than the fastest tenth\n",
        100 * noise);
  }
}

// After `open_ms`, in which all was made ready for the first run. `more` is asked for facts after
// that one.
Outcome measure(const BenchFlags& flags, const Device& device, const Work& work, double open_ms,
                const std::function<Result<Facts>()>& more) {
  const auto begin = Clock::now();
  // The first run of a model compiles for the inputs' shapes.
  if (const Status first = work(); !first.ok()) return fail(Exit::kModel, first);
  const double first_ms = open_ms + ms_since(begin);
  Facts facts;
  facts.json = {{"model", flags.model.model},
                {"device", device.info().name},
                {"threads", device.info().threads},
                {"open_ms", open_ms},
                {"first_ms", first_ms}};
  SHOAL_OR_EXIT(const Facts others, Exit::kDevice, more());
  facts.json.update(others.json);
  facts.macs = others.macs;
  if (flags.turns) return take_turns(work, facts);
  SHOAL_OR_EXIT(const auto times, Exit::kDevice, measure_for(flags.seconds, work));
  flags.json ? print_json(with_times(facts, times))
             : print_table(flags.model.model, device.info().threads, open_ms, first_ms, times);
  return {};
}

Result<Session> open(const BenchFlags& flags, Device& device) {
  if (flags.batch == 0) return open_session(flags.model, device);
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model, flags.batch));
  return Session::open(loaded.graph, device, {.optimize = flags.model.optimize});
}

Outcome bench_model(const BenchFlags& flags, Device& device, const Json& known = Json::object()) {
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(Session session, Exit::kModel, open(flags, device));
  const double open_ms = ms_since(begin);
  SHOAL_OR_EXIT(const auto inputs, Exit::kUsage, random_inputs(session, flags.shapes));
  const auto facts = [&]() -> Result<Facts> {
    SHOAL_ASSIGN(const LayerProfile profile, profile_layers(session, inputs, 1));
    SHOAL_ASSIGN(const Session::Tensors outputs, session.run(inputs));
    SHOAL_ASSIGN(const double transfer, transfer_ms(first_device(device), inputs, outputs));
    Facts all{{{"threads_used", profile.most_threads()},
               {"device_name", first_device(device).info().name},
               {"transfer_ms", transfer}},
              static_cast<double>(profile.macs())};
    all.json.update(known);
    return all;
  };
  return measure(
      flags, device, [&] { return session.run(inputs).status(); }, open_ms, facts);
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
      const LoadReport load, Exit::kDevice,
      run_closed_loop(flags.clients, std::chrono::duration<double>(flags.seconds), request));
  print_facts({{"model", flags.model.model, "model"},
               {"device", device.info().name},
               {"threads", device.info().threads, "threads"},
               {"clients", flags.clients, "clients"},
               {"requests_per_s", load.requests_per_s(), "requests/s", 1},
               {"p50_ms", load.latencies.quantile(0.5), "p50 ms", 3},
               {"p99_ms", load.latencies.quantile(0.99), "p99 ms", 3},
               {"requests", load.latencies.count(), "requests"},
               {"seconds", load.seconds},
               {"peak_rss_mb", peak_rss_mb()}},
              flags.json);
  return {};
}

// Steps on noise, with a rate that leaves the weights nearly where they are.
Outcome bench_training(const BenchFlags& flags, Device& device) {
  const int64_t batch = flags.batch > 0 ? flags.batch : 64;
  const auto begin = Clock::now();
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, fit::load_for_batch(model, batch));
  train::TrainerOptions options{.optimizer = {.rate = 1e-6f, .momentum = 0.9f}};
  options.memory_bytes = flags.model.memory_limit();
  options.bf16 = flags.bf16;
  options.update_on_device = flags.update_on_device || !device.info().unified_memory;
  SHOAL_OR_EXIT(train::Trainer trainer, Exit::kModel,
                train::Trainer::create(device, loaded.graph, options));
  const double open_ms = ms_since(begin);
  std::mt19937 rng(1);
  const Tensor images = random_tensor(loaded.graph[loaded.graph.inputs()[0]].type, rng);
  const Tensor labels({DType::kI64, {batch}});
  const auto step = [&] { return trainer.step(images, std::span(&labels, 1)).status(); };
  const auto planned = static_cast<double>(trainer.memory().planned);
  const Device& first = first_device(device);
  return measure(flags, device, step, open_ms, [&]() -> Result<Facts> {
    SHOAL_ASSIGN(const train::StepWork work,
                 train::step_work(loaded.graph, options.step, options.optimizer, first));
    return Facts{{{"planned_mb", planned / 1e6},
                  {"device_name", first.info().name},
                  {"elsewhere", work.elsewhere}},
                 static_cast<double>(work.macs)};
  });
}

// With the layers in f16 that the budget allows.
Outcome bench_automatic(const BenchFlags& flags) {
  const auto open_on = [&](Device& device) { return open(flags, device); };
  SHOAL_OR_EXIT(const InputShapes shapes, Exit::kDevice, parse_input_shapes(flags.shapes));
  SHOAL_OR_EXIT(const AutomaticPrecision found, Exit::kDevice,
                choose_precision(with_precision(flags.model.device), flags.budget / 100, shapes,
                                 open_on, same_answers(shapes)));
  return bench_model(flags, *found.device, facts_of(found));
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
  const std::string_view kind = std::string_view(model.device).substr(0, model.device.find(':'));
  if (flags.precision != "fp32" && !has_precisions(model.device)) {
    return {Exit::kUsage,
            "--precision " + flags.precision + " is for --device opencl:N or vulkan:N"};
  }
  if (flags.precision == "auto") return bench_automatic(flags);
  if (flags.precision == "fp16") model.device += model.device == kind ? ":0:fp16" : ":fp16";
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
  there.add_option("--html", flags.cluster.html,
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
