#include "shoal/cluster/profiling/profile_store.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/math/hash.h"
#include "shoal/cluster/messages/sealed_file.h"
#include "shoal/model/graph/text.h"
#include "stored.pb.h"

namespace shoal::cluster {
namespace {

using plan::ClusterProfile;
using plan::LinkProfile;
using plan::WorkerProfile;

constexpr uint32_t kVersion = 2;
constexpr std::chrono::hours kGoodFor{24};

// The key of a profile: operators, their attributes, types and the worker. Times do not depend on
// the weights' values.
std::string description(const Graph& graph, const ListedWorker& worker) {
  std::string text = worker.name + ' ' + worker.address + '\n';
  for (const Node& node : graph.nodes()) {
    text += std::string(node.op->name) + ' ' + graph[node.outputs[0]].name;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) text += ' ' + to_string(graph[id].type);
    }
    for (const auto& [name, attribute] : node.attributes) {
      text += ' ' + name + '=' + to_text(attribute);
    }
    text += ' ' + to_string(graph[node.outputs[0]].type) + '\n';
  }
  return text;
}

int64_t seconds_since_1970(ProfileStore::Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void encode(const LinkProfile& link, stored::Link& to) {
  to.set_latency_seconds(link.latency_seconds);
  to.set_bytes_per_second(link.bytes_per_second);
  to.set_wakeup_seconds(link.wakeup_seconds);
  to.set_sleep_after_seconds(link.sleep_after_seconds);
  to.set_medium(link.medium);
}

LinkProfile decode(const stored::Link& from) {
  return {from.latency_seconds(), from.bytes_per_second(), from.wakeup_seconds(),
          from.sleep_after_seconds(), from.medium()};
}

void encode(const WorkerProfile& worker, stored::Worker& to) {
  to.set_name(worker.name);
  for (const auto& [op, speed] : worker.operators) {
    stored::OperatorSpeed& one = *to.add_operators();
    one.set_op(op);
    one.set_seconds(speed.seconds);
    one.set_seconds_per_mac(speed.seconds_per_mac);
    one.set_seconds_per_byte(speed.seconds_per_byte);
  }
  for (const auto& [output, factor] : worker.corrections) {
    stored::Correction& one = *to.add_corrections();
    one.set_output(output);
    one.set_factor(factor);
  }
  to.set_memory_bytes(worker.memory_bytes);
  to.set_slowdown(worker.slowdown);
  to.set_absent(!worker.present);
}

WorkerProfile decode(const stored::Worker& from) {
  WorkerProfile worker;
  worker.name = from.name();
  for (const stored::OperatorSpeed& speed : from.operators()) {
    worker.operators[speed.op()] = {speed.seconds(), speed.seconds_per_mac(),
                                    speed.seconds_per_byte()};
  }
  for (const stored::Correction& correction : from.corrections()) {
    worker.corrections[correction.output()] = correction.factor();
  }
  worker.memory_bytes = from.memory_bytes();
  worker.slowdown = from.slowdown();
  worker.present = !from.absent();
  return worker;
}

bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

bool makes_sense(const LinkProfile& link) {
  return is_amount(link.latency_seconds) && is_amount(link.bytes_per_second) &&
         link.bytes_per_second > 0 && is_amount(link.wakeup_seconds) &&
         is_amount(link.sleep_after_seconds);
}

// Operators that were not measured use the entry "", so every worker must have one.
bool makes_sense(const WorkerProfile& worker) {
  const auto is_speed = [](const auto& entry) {
    const plan::OperatorSpeed& speed = entry.second;
    return is_amount(speed.seconds) && is_amount(speed.seconds_per_mac) &&
           is_amount(speed.seconds_per_byte);
  };
  return worker.operators.contains("") && is_amount(worker.slowdown) && worker.slowdown >= 1 &&
         std::ranges::all_of(worker.operators, is_speed) && is_amount(worker.memory_bytes) &&
         std::ranges::all_of(worker.corrections, [](const auto& e) { return is_amount(e.second); });
}

// The planner compares and adds these numbers, and cannot handle invalid ones.
bool is_usable(const stored::Profile& profile) {
  return profile.workers_size() == 1 && profile.links_size() == 1 &&
         makes_sense(decode(profile.workers(0))) && makes_sense(decode(profile.links(0)));
}

}  // namespace

ProfileStore::ProfileStore(const std::filesystem::path& folder, const Graph& graph,
                           const ListedWorker& worker) {
  const std::string text = description(graph, worker);
  file_ = folder / ("profile-" + std::to_string(shoal::hash_of(std::as_bytes(std::span(text)))));
}

std::optional<MeasuredWorker> ProfileStore::load(Time now) const {
  const auto bytes = read_sealed(file_);
  stored::Profile profile;
  if (!bytes.ok() || !profile.ParseFromString(*bytes)) return std::nullopt;
  const int64_t age = seconds_since_1970(now) - profile.measured_at();
  // A negative age means that the clock was set back; the profile's real age is unknown then.
  const bool is_recent = age >= 0 && age <= std::chrono::seconds(kGoodFor).count();
  if (profile.version() != kVersion || !is_recent || !is_usable(profile)) return std::nullopt;
  return MeasuredWorker{decode(profile.workers(0)), decode(profile.links(0))};
}

void encode(const ClusterProfile& profile, stored::Profile& to) {
  for (const WorkerProfile& worker : profile.workers) encode(worker, *to.add_workers());
  for (const LinkProfile& link : profile.links) encode(link, *to.add_links());
  encode(profile.coordinator, *to.mutable_coordinator());
  to.set_keep_awake(profile.keep_awake);
}

void ProfileStore::save(const MeasuredWorker& measured, Time now) const {
  stored::Profile message;
  message.set_version(kVersion);
  message.set_measured_at(seconds_since_1970(now));
  encode(measured.profile, *message.add_workers());
  encode(measured.link, *message.add_links());
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  remove_abandoned(file_.parent_path());
  // A profile that cannot be written is measured again next time.
  static_cast<void>(write_sealed(file_, message.SerializeAsString(), {.durable = false}));
}

void ProfileStore::remove() const {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace shoal::cluster
