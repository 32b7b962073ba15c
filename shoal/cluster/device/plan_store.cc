#include "shoal/cluster/device/plan_store.h"

#include <chrono>
#include <span>
#include <system_error>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"
#include "shoal/cluster/messages/sealed_file.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/plan/search/plan_recipe.h"
#include "stored.pb.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;
using plan::Origin;

constexpr uint32_t kVersion = 3;
constexpr std::chrono::hours kKeptFor{48};  // longer than profiles, which they depend on
constexpr const char* kPrefix = "plan-";

// Weights are no part of the key: plans do not depend on them. A plan for another graph with the
// same hash is checked when it is remade, and at worst is slow.
stored::PlanKey key_of(const Graph& graph, const plan::ClusterProfile& cluster,
                       const plan::PlanOptions& options) {
  stored::PlanKey key;
  encode(cluster, *key.mutable_cluster());
  for (const Node& node : graph.nodes()) {
    stored::PlanKey::Node& one = *key.add_nodes();
    one.set_op(std::string(node.op->name));
    for (ValueId id : node.inputs) one.add_inputs(static_cast<int32_t>(id));
    for (ValueId id : node.outputs) one.add_output_types(to_string(graph[id].type));
  }
  for (plan::Cut cut : options.cuts) key.add_cuts(static_cast<int32_t>(cut));
  key.set_forced(options.forced);
  for (int worker : options.excluded) key.add_excluded(worker);
  key.set_most_nodes(options.most_nodes);
  key.set_wire_error(options.wire.error);
  key.set_wire_smallest(static_cast<uint32_t>(options.wire.smallest));
  key.set_wire_inputs(options.wire.inputs);
  for (const auto& [value, magnitude] : options.wire.largest) {
    stored::PlanKey::Largest& one = *key.add_wire_largest();
    one.set_value(value);
    one.set_magnitude(magnitude);
  }
  // All options that the search or the steps after it depend on belong into the key.
  key.set_survive(options.survive);
  key.set_wait_seconds(options.wait_seconds);
  return key;
}

void encode(const plan::Segment& segment, stored::Segment& to) {
  to.set_begin(segment.nodes.begin);
  to.set_end(segment.nodes.end);
  to.set_split(segment.split);
  for (const plan::Task& task : segment.tasks) {
    stored::Task& one = *to.add_tasks();
    one.set_worker(task.worker);
    for (const plan::Piece& piece : task.outputs) cluster::encode(piece, *one.add_outputs());
  }
}

Result<plan::Segment> decode(const stored::Segment& from) {
  plan::Segment segment{{from.begin(), from.end()}, from.split(), {}};
  for (const stored::Task& task : from.tasks()) {
    plan::Task& one = segment.tasks.emplace_back();
    one.worker = task.worker();
    for (const message::Piece& output : task.outputs()) {
      SHOAL_ASSIGN(plan::Piece piece, cluster::decode(output));
      one.outputs.push_back(std::move(piece));
    }
  }
  return segment;
}

void encode(const plan::Price& price, stored::Price& to) {
  to.set_unprotected_seconds(price.unprotected_seconds);
  to.set_repeated_seconds(price.repeated_seconds);
  to.set_compute(price.compute);
  to.set_repeated_compute(price.repeated_compute);
  to.set_wire_bytes(price.wire_bytes);
  to.set_memory_bytes(price.memory_bytes);
  to.set_bounded_seconds(price.bounded_seconds);
  to.set_bounded_compute(price.bounded_compute);
}

plan::Price decode(const stored::Price& from) {
  return {from.unprotected_seconds(), from.repeated_seconds(), from.compute(),
          from.repeated_compute(),    from.wire_bytes(),       from.memory_bytes(),
          from.bounded_seconds(),     from.bounded_compute()};
}

stored::Plan encode(const Origin& origin) {
  stored::Plan to;
  to.set_version(kVersion);
  to.set_name(origin.name);
  for (const auto& [node, shares] : origin.sums) {
    stored::Sum& sum = *to.add_sums();
    sum.set_node(node);
    for (double share : shares) sum.add_shares(share);
  }
  for (const plan::ClusteredLayer& layer : origin.clusters) {
    stored::ClusteredLayer& one = *to.add_clusters();
    one.set_node(layer.node);
    for (double speed : layer.speeds) one.add_speeds(speed);
    one.set_seconds_per_value(layer.seconds_per_value);
  }
  to.set_dense_bytes(origin.dense_bytes);
  for (const plan::Segment& segment : origin.plan.segments) encode(segment, *to.add_segments());
  to.set_narrow(origin.narrow);
  to.set_coded(origin.coded);
  encode(origin.price, *to.mutable_price());
  return to;
}

Result<Origin> decode(const stored::Plan& from) {
  Origin origin;
  origin.name = from.name();
  for (const stored::Sum& sum : from.sums()) {
    origin.sums.push_back({sum.node(), {sum.shares().begin(), sum.shares().end()}});
  }
  for (const stored::ClusteredLayer& one : from.clusters()) {
    origin.clusters.push_back({.node = one.node(),
                               .speeds = {one.speeds().begin(), one.speeds().end()},
                               .seconds_per_value = one.seconds_per_value()});
  }
  origin.dense_bytes = from.dense_bytes();
  for (const stored::Segment& one : from.segments()) {
    SHOAL_ASSIGN(plan::Segment segment, decode(one));
    origin.plan.segments.push_back(std::move(segment));
  }
  origin.narrow = from.narrow();
  origin.coded = from.coded();
  origin.price = decode(from.price());
  return origin;
}

void remove_old(const fs::path& folder) {
  const auto files = list_folder(folder);
  if (!files.ok()) return;
  std::error_code error;
  for (const fs::path& file : *files) {
    const bool is_plan = file.filename().string().starts_with(kPrefix);
    const auto written = fs::last_write_time(file, error);
    const bool is_old = !error && fs::file_time_type::clock::now() - written > kKeptFor;
    if (is_plan && is_old) fs::remove(file, error);
  }
}

}  // namespace

PlanStore::PlanStore(const fs::path& folder, const Graph& graph,
                     const plan::ClusterProfile& cluster, const plan::PlanOptions& options)
    : graph_(graph), cluster_(cluster), options_(options) {
  const std::string key = key_of(graph, cluster, options).SerializeAsString();
  const uint64_t hash = shoal::hash_of(std::as_bytes(std::span(key)));
  file_ = folder / (kPrefix + std::to_string(hash));
}

std::optional<plan::Prediction> PlanStore::load() const {
  const auto bytes = read_sealed(file_);
  stored::Plan plan;
  if (!bytes.ok() || !plan.ParseFromString(*bytes) || plan.version() != kVersion) {
    return std::nullopt;
  }
  // Any damage means a new search and no error: the file is a cache.
  const auto origin = decode(plan);
  if (!origin.ok()) return std::nullopt;
  auto made = plan::follow_recipe(graph_, cluster_, options_, *origin);
  return made.ok() ? std::optional(*std::move(made)) : std::nullopt;
}

void PlanStore::save(const plan::Prediction& made) const {
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  remove_abandoned(file_.parent_path());
  // A new profile makes a new key, so old files are never found again and would pile up.
  remove_old(file_.parent_path());
  static_cast<void>(
      write_sealed(file_, encode(made.origin).SerializeAsString(), {.durable = false}));
}

Result<std::vector<plan::Prediction>> load_or_make_plans(const fs::path& folder, const Graph& graph,
                                                         const plan::ClusterProfile& cluster,
                                                         const plan::PlanOptions& options) {
  const PlanStore store(folder, graph, cluster, options);
  if (auto known = store.load()) return std::vector<plan::Prediction>{*std::move(known)};
  SHOAL_ASSIGN(auto plans, plan::make_plans(graph, cluster, options));
  store.save(plans.front());
  return plans;
}

}  // namespace shoal::cluster
