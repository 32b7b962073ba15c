#include "profile_store.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "shoal/base/atomic_file.h"
#include "shoal/base/hash.h"
#include "shoal/cluster/sealed_file.h"

namespace shoal::cli {
namespace {

using nlohmann::json;
using plan::ClusterProfile;
using plan::LinkProfile;
using plan::WorkerProfile;

constexpr std::chrono::hours kGoodFor{24};

// What the times depend on: what the nodes are, not what their weights are.
std::string description(const Graph& graph, std::span<const cluster::ListedWorker> workers) {
  std::string text;
  for (const cluster::ListedWorker& worker : workers) {
    text += worker.name + ' ' + worker.address + '\n';
  }
  for (const Node& node : graph.nodes()) {
    text += std::string(node.op->name) + ' ' + graph[node.outputs[0]].name;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) text += ' ' + to_string(graph[id].type);
    }
    text += ' ' + to_string(graph[node.outputs[0]].type) + '\n';
  }
  return text;
}

int64_t seconds_since_1970(ProfileStore::Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

json to_json(const LinkProfile& link) {
  return {link.latency_seconds, link.bytes_per_second, link.wakeup_seconds,
          link.sleep_after_seconds, link.medium};
}

LinkProfile link_from(const json& list) {
  return {list.at(0), list.at(1), list.at(2), list.at(3), list.at(4)};
}

json to_json(const WorkerProfile& worker) {
  json operators = json::object();
  for (const auto& [op, speed] : worker.operators) {
    operators[op] = {speed.seconds, speed.seconds_per_mac, speed.seconds_per_byte};
  }
  return {{"name", worker.name},
          {"operators", std::move(operators)},
          {"memory_bytes", worker.memory_bytes},
          {"corrections", worker.corrections}};
}

WorkerProfile worker_from(const json& object) {
  WorkerProfile worker;
  worker.name = object.at("name");
  for (const auto& [op, speed] : object.at("operators").items()) {
    worker.operators[op] = {speed.at(0), speed.at(1), speed.at(2)};
  }
  worker.memory_bytes = object.at("memory_bytes");
  for (const auto& [output, factor] : object.at("corrections").items()) {
    worker.corrections[output] = factor;
  }
  return worker;
}

ClusterProfile cluster_from(const json& object) {
  ClusterProfile cluster;
  for (const json& worker : object.at("workers")) cluster.workers.push_back(worker_from(worker));
  for (const json& link : object.at("links")) cluster.links.push_back(link_from(link));
  cluster.coordinator = link_from(object.at("coordinator"));
  return cluster;
}

}  // namespace

ProfileStore::ProfileStore(const std::filesystem::path& folder, const Graph& graph,
                           std::span<const cluster::ListedWorker> workers)
    : workers_(workers.size()) {
  const std::string text = description(graph, workers);
  file_ = folder / ("profile-" + std::to_string(hash_of(std::as_bytes(std::span(text)))) + ".json");
}

std::optional<ClusterProfile> ProfileStore::load(Time now) const {
  const auto text = cluster::read_sealed(file_);
  if (!text.ok()) return std::nullopt;
  try {  // the library's way to say that it cannot read something
    const json object = json::parse(*text);
    const int64_t age = seconds_since_1970(now) - object.at("measured_at").get<int64_t>();
    if (age < 0 || age > std::chrono::seconds(kGoodFor).count()) return std::nullopt;
    ClusterProfile cluster = cluster_from(object);
    const bool whole = cluster.workers.size() == workers_ && cluster.links.size() == workers_;
    for (const WorkerProfile& worker : cluster.workers) {
      if (!worker.operators.contains("")) return std::nullopt;
    }
    return whole ? std::optional(std::move(cluster)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

json describe(const ClusterProfile& profile) {
  json object = {{"coordinator", to_json(profile.coordinator)},
                 {"workers", json::array()},
                 {"links", json::array()}};
  for (const WorkerProfile& worker : profile.workers) object["workers"].push_back(to_json(worker));
  for (const LinkProfile& link : profile.links) object["links"].push_back(to_json(link));
  return object;
}

// Who cannot save measures again.
void ProfileStore::save(const ClusterProfile& profile, Time now) const {
  json object = describe(profile);
  object["measured_at"] = seconds_since_1970(now);
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  // Names need not be UTF-8. Those that are not are not found again.
  const std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  remove_abandoned(file_.parent_path());
  static_cast<void>(cluster::write_sealed(file_, text + "\n").ok());
}

void ProfileStore::forget() const {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace shoal::cli
