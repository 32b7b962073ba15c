#include "plan_store.h"

#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "profile_store.h"
#include "shoal/base/atomic_file.h"
#include "shoal/base/hash.h"
#include "shoal/cluster/sealed_file.h"
#include "shoal/plan/search/plan_recipe.h"

namespace shoal::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using plan::Origin;

constexpr std::chrono::hours kKeptFor{48};  // longer than profiles, which they depend on
constexpr const char* kPrefix = "plan-";

// What the search depends on. A plan for another graph of the same hash would be checked, and only
// be slow.
std::string description(const Graph& graph, const plan::ClusterProfile& cluster,
                        const plan::PlanOptions& options) {
  json text = {describe(cluster),  options.forced,        options.excluded, options.most_nodes,
               options.wire.error, options.wire.smallest, options.survive,  options.wait_seconds};
  for (plan::Cut cut : options.cuts) text.push_back(cut);
  for (const auto& [value, largest] : options.wire.largest) text.push_back({value, largest});
  for (const Node& node : graph.nodes()) {
    json one = {node.op->name};
    for (ValueId id : node.inputs) one.push_back(static_cast<int32_t>(id));
    for (ValueId id : node.outputs) one.push_back(to_string(graph[id].type));
    text.push_back(std::move(one));
  }
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const plan::Piece& piece) {
  const auto list = [](const Shape& shape) {
    return std::vector<int64_t>(shape.begin(), shape.end());
  };
  return {static_cast<int32_t>(piece.value), list(piece.region.begin), list(piece.region.end)};
}

Shape shape_from(const json& list) {
  Shape shape;
  if (list.size() > Shape::kMaxRank) throw json::out_of_range::create(401, "rank", &list);
  for (const json& dim : list) shape.push_back(dim);
  return shape;
}

plan::Piece piece_from(const json& list) {
  return {ValueId{list.at(0).get<int32_t>()}, {shape_from(list.at(1)), shape_from(list.at(2))}};
}

json to_json(const plan::Segment& segment) {
  json tasks = json::array();
  for (const plan::Task& task : segment.tasks) {
    json pieces = json::array();
    for (const plan::Piece& piece : task.outputs) pieces.push_back(to_json(piece));
    tasks.push_back({{"worker", task.worker}, {"pieces", std::move(pieces)}});
  }
  return {{"nodes", {segment.nodes.begin, segment.nodes.end}},
          {"split", segment.split},
          {"tasks", std::move(tasks)}};
}

plan::Segment segment_from(const json& object) {
  plan::Segment segment{
      {object.at("nodes").at(0), object.at("nodes").at(1)}, object.at("split"), {}};
  for (const json& from : object.at("tasks")) {
    plan::Task& task = segment.tasks.emplace_back();
    task.worker = from.at("worker");
    for (const json& piece : from.at("pieces")) task.outputs.push_back(piece_from(piece));
  }
  return segment;
}

json to_json(const plan::Price& price) {
  return {price.unprotected_seconds, price.repeated_seconds, price.compute,
          price.repeated_compute,    price.wire_bytes,       price.memory_bytes};
}

plan::Price price_from(const json& list) {
  return {list.at(0), list.at(1), list.at(2), list.at(3), list.at(4), list.at(5)};
}

json to_json(const Origin& origin) {
  json sums = json::array(), segments = json::array();
  for (const auto& [node, shares] : origin.sums) sums.push_back({node, shares});
  for (const plan::Segment& segment : origin.plan.segments) segments.push_back(to_json(segment));
  return {{"name", origin.name},     {"sums", std::move(sums)}, {"segments", std::move(segments)},
          {"narrow", origin.narrow}, {"coded", origin.coded},   {"price", to_json(origin.price)}};
}

Origin origin_from(const json& object) {
  Origin origin;
  origin.name = object.at("name");
  for (const json& sum : object.at("sums")) {
    origin.sums.push_back({sum.at(0), sum.at(1).get<std::vector<double>>()});
  }
  for (const json& segment : object.at("segments")) {
    origin.plan.segments.push_back(segment_from(segment));
  }
  origin.narrow = object.at("narrow");
  origin.coded = object.at("coded");
  origin.price = price_from(object.at("price"));
  return origin;
}

// Of clusters as they were measured before.
void remove_old(const fs::path& folder) {
  std::error_code ignored;
  fs::directory_iterator files(folder, ignored);
  for (const auto& file : files) {
    const bool is_plan = file.path().filename().string().starts_with(kPrefix);
    const auto age = fs::file_time_type::clock::now() - file.last_write_time(ignored);
    if (is_plan && age > kKeptFor) fs::remove(file.path(), ignored);
  }
}

}  // namespace

PlanStore::PlanStore(const fs::path& folder, const Graph& graph,
                     const plan::ClusterProfile& cluster, const plan::PlanOptions& options)
    : graph_(graph), cluster_(cluster), options_(options) {
  const std::string text = description(graph, cluster, options);
  const uint64_t hash = hash_of(std::as_bytes(std::span(text)));
  file_ = folder / (kPrefix + std::to_string(hash) + ".json");
}

std::optional<plan::Prediction> PlanStore::load() const {
  const auto text = cluster::read_sealed(file_);
  if (!text.ok()) return std::nullopt;
  try {  // the library's way to say that it cannot read something
    auto made = plan::remake(graph_, cluster_, options_, origin_from(json::parse(*text)));
    return made.ok() ? std::optional(*std::move(made)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

// Who cannot save searches again.
void PlanStore::save(const plan::Prediction& made) const {
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  remove_abandoned(file_.parent_path());
  remove_old(file_.parent_path());
  const std::string text =
      to_json(made.origin).dump(-1, ' ', false, json::error_handler_t::replace);
  static_cast<void>(cluster::write_sealed(file_, text + "\n").ok());
}

Result<std::vector<plan::Prediction>> make_or_load_plans(const fs::path& folder, const Graph& graph,
                                                         const plan::ClusterProfile& cluster,
                                                         const plan::PlanOptions& options) {
  const PlanStore store(folder, graph, cluster, options);
  if (auto known = store.load()) return std::vector<plan::Prediction>{*std::move(known)};
  SHOAL_ASSIGN(auto plans, plan::make_plans(graph, cluster, options));
  store.save(plans.front());
  return plans;
}

}  // namespace shoal::cli
