// Flags of plans, and plans in words and as JSON. Searching is done by shoal/plan.
#include "planning.h"

#include <algorithm>

#include "apps/flags/json.h"
#include "cli.h"
#include "model.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/cost/plan_stats.h"
#include "table.h"

namespace shoal::cli {
namespace {

using plan::Cut;
using plan::Prediction;

constexpr std::array kCuts = {Cut::kNone, Cut::kRows,     Cut::kColumns, Cut::kInputs,
                              Cut::kGrid, Cut::kChannels, Cut::kBatch};

constexpr std::array<std::string_view, 2> kStreamSplits = {"stages", "replicas"};

// The name of a cut as --split takes it.
std::string flag_of(Cut cut) { return cut == Cut::kNone ? "none" : std::string(name_of(cut)); }

std::string in_seconds(double seconds) {
  return seconds < 1 ? fixed(1e3 * seconds, 1) + " ms" : fixed(seconds, 2) + " s";
}

std::string than(double difference) {
  return in_seconds(std::abs(difference)) + (difference >= 0 ? " more" : " less");
}

Json workers_json(const Planned& planned) {
  const Prediction& best = planned.best();
  const std::vector<double> memory =
      memory_bytes(best.graph(), best.plan(), best.schedule(), planned.cluster.workers.size());
  Json list = Json::array();
  for (size_t w = 0; w < memory.size(); ++w) {
    list.push_back({{"name", planned.cluster.workers[w].name},
                    {"compute_ms", 1e3 * best.timeline.compute_seconds[w]},
                    {"transfer_ms", 1e3 * best.timeline.transfer_seconds[w]},
                    {"memory_bytes", memory[w]}});
  }
  return list;
}

Json price_json(const Prediction& best) {
  const plan::Price& price = best.price;
  return {{"unprotected_ms", 1e3 * price.unprotected_seconds},
          {"repeated_ms", 1e3 * price.repeated_seconds},
          {"compute", price.compute},
          {"repeated_compute", price.repeated_compute},
          {"wire_bytes", price.wire_bytes},
          {"memory_bytes", price.memory_bytes},
          {"codes", best.plan().codes.size()}};
}

}  // namespace

void PlanFlags::add_to(Command& command) {
  command.add_option("model", model, "ONNX file or zoo:NAME")->required();
  cluster.add_to(command);
  add_split_to(command, nullptr);
  command.add_option("--shape", shapes, "NAME=1x3x224x224 for inputs of open size");
}

Option* PlanFlags::add_cluster_to(Command& command) {
  Option* option =
      command
          .add_flag("--cluster{own}", network, "On the workers of this user's cluster, or of 'mpi'")
          ->check(one_of({"own", "mpi"}));
  add_split_to(command, option);
  return option;
}

void PlanFlags::add_split_to(Command& command, Option* needs) {
  std::vector<std::string> splits = {"any"};
  for (Cut cut : kCuts) splits.push_back(flag_of(cut));
  splits.insert(splits.end(), kStreamSplits.begin(), kStreamSplits.end());
  std::vector<Option*> options = wire.add_to(command);
  Option* survival =
      command
          .add_option("--survive", survive,
                      "Answer though so many workers are lost in the middle of a request")
          ->check(in_range(0, 2))
          ->capture_default_str();
  options.push_back(survival);
  options.push_back(
      command
          .add_option("--wait", wait_ms,
                      "Wait so many ms for what is missing before computing it from the rest")
          ->check(in_range(0.0, 1e9))
          ->needs(survival));
  for (Option* option :
       {command.add_option("--objective", objective, "One answer soon, or many a second")
            ->check(one_of({"latency", "throughput"}))
            ->capture_default_str(),
        command
            .add_option("--split", split, "Split this way wherever it can be done, for comparison")
            ->check(one_of(splits))
            ->capture_default_str(),
        command.add_option("--fuse", fuse,
                           "At most so many nodes between two exchanges; 0: any number"),
        command.add_option("--exclude", excluded, "Workers not to be used, by number")
            ->delimiter(',')}) {
    options.push_back(option);
  }
  for (Option* option : options) {
    if (needs != nullptr) option->needs(needs);
  }
  command.check_together([this] { return check(); });
}

Status PlanFlags::check() const {
  const bool of_streams = std::ranges::find(kStreamSplits, split) != kStreamSplits.end();
  if (of_streams && !is_stream()) {
    return invalid("--split: " + split + " is for --objective throughput");
  }
  if (is_stream() && !of_streams && split != "any" && split != "none") {
    return invalid("--split: for --objective throughput it is stages, replicas, none or any");
  }
  return {};
}

plan::PlanOptions options_of(const PlanFlags& flags) {
  plan::PlanOptions options;
  options.excluded = flags.excluded;
  if (flags.fuse > 0) options.most_nodes = flags.fuse;
  options.wire = flags.wire.options();
  options.survive = flags.survive;
  options.wait_seconds = flags.wait_ms / 1e3;
  if (flags.split == "any") return options;
  options.forced = true;
  for (Cut cut : kCuts) {
    if (flag_of(cut) == flags.split) options.cuts = {cut};
  }
  return options;
}

Status check_survival(const PlanFlags& flags, const plan::ClusterProfile& cluster) {
  return plan::check_survival(cluster.workers.size(), flags.excluded.size(), flags.survive);
}

Result<Planned> make_planned(const PlanFlags& flags, plan::ClusterProfile cluster) {
  // Called once: the profile is moved out.
  return make_planned(flags, [&](const Graph&) { return std::move(cluster); });
}

Result<Planned> make_planned(const PlanFlags& flags, const ProfileOf& profile_of) {
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(flags.model, flags.shapes));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(graph));
  plan::PlanOptions options = options_of(flags);
  if (options.wire.smallest == plan::WireFormat::kI8) {
    SHOAL_ASSIGN(options.wire.largest, largest_values(graph));
  }
  SHOAL_ASSIGN(auto made, plan::compare_plans(graph, std::move(cluster), options));
  return Planned{std::move(made), flags.model};
}

std::string why_slower(const Planned& planned, const Prediction& other) {
  const Prediction& best = planned.best();
  const plan::Difference more = difference(other, best);
  return "its busiest worker computes " + than(more.compute_seconds) + " and waits " +
         than(more.wait_seconds) + "; " +
         in_bytes(static_cast<long long>(other.timeline.wire_bytes)) + " travel in " +
         std::to_string(other.schedule().transfers.size()) + " messages, not " +
         in_bytes(static_cast<long long>(best.timeline.wire_bytes)) + " in " +
         std::to_string(best.schedule().transfers.size());
}

std::string price(const Planned& planned) {
  const Prediction& best = planned.best();
  if (best.plan().survives == 0) return "";
  const plan::Price& price = best.price;
  return "survives the loss of " + std::to_string(best.plan().survives) + ": " +
         in_seconds(best.timeline.seconds) + ", not " + in_seconds(price.unprotected_seconds) +
         "; computes " + fixed(price.compute, 2) + " times as much, sends " +
         in_bytes(static_cast<long long>(price.wire_bytes)) + " and keeps " +
         in_bytes(static_cast<long long>(price.memory_bytes)) +
         " more. Everything repeated: " + in_seconds(price.repeated_seconds) + ", " +
         fixed(price.repeated_compute, 2) + " times as much";
}

std::string advice_text(const plan::Advice& advice, const std::string& one_worker) {
  const std::string all = std::to_string(advice.all);
  switch (advice.use) {
    case plan::Use::kOnlyWorker:
      return "There is one worker.";
    case plan::Use::kNoGain:
      return "More devices do not help: one worker alone " + one_worker + ".";
    case plan::Use::kOne:
      return "More devices do not help: one worker alone is fastest." +
             (advice.times_slower == 0 ? ""
                                       : " The best over several takes " +
                                             fixed(advice.times_slower, 2) + " times as long.");
    case plan::Use::kSome:
      return "More devices do not help: the best plan uses " + std::to_string(advice.used) +
             " of the " + all + " workers.";
    case plan::Use::kAll:
      break;
  }
  return "All " + all + " workers are of use.";
}

std::string advice(const Planned& planned) {
  return advice_text(advise(planned), "takes " + in_seconds(planned.single.timeline.seconds));
}

Json to_json(const Planned& planned) {
  const Prediction& best = planned.best();
  const double predicted_ms = 1e3 * best.timeline.seconds;
  Json others = Json::array();
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const Prediction& other = planned.plans[i];
    others.push_back({{"name", other.name},
                      {"predicted_ms", 1e3 * other.timeline.seconds},
                      {"why_slower", why_slower(planned, other)}});
  }
  Json result = {{"model", planned.model},
                 {"single_ms", 1e3 * planned.single.timeline.seconds},
                 {"cluster_ms", predicted_ms},
                 {"predicted_ms", predicted_ms},
                 {"speedup", planned.speedup()},
                 {"halo_bytes", halo_bytes(best.graph(), best.plan(), best.schedule())},
                 {"wire_bytes", best.timeline.wire_bytes},
                 {"messages", best.schedule().transfers.size()},
                 {"error", best.error},
                 {"kind", best.name},
                 {"plan", to_text(best.graph(), best.plan())},
                 {"workers", workers_json(planned)},
                 {"alternatives", std::move(others)},
                 {"advice", advice(planned)}};
  if (best.plan().survives > 0) {
    result["survive"] = best.plan().survives;
    result["price"] = price_json(best);
  }
  return result;
}

}  // namespace shoal::cli
