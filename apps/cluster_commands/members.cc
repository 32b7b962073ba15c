#include "apps/cluster_commands/members.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/base/text/printable.h"

namespace shoal::cluster {
namespace {

// What is known of a worker that answered.
Facts facts_of(const WorkerInspection& seen) {
  return {{"processor", seen.state.processor, "processor"},
          {"threads", seen.state.threads, "threads"},
          {"memory_bytes", seen.state.memory_bytes},
          sized("free_bytes", seen.state.free_bytes, "free memory"),
          {"gmac_per_s", 1e-9 * seen.macs_per_second, "GMAC/s", 1},
          {"latency_ms", 1e3 * seen.link.latency_seconds, "latency ms", 2},
          {"mbit_per_s", 8e-6 * seen.link.bytes_per_second, "Mbit/s", 1},
          {"wakeup_ms", 1e3 * seen.link.wakeup_seconds, "wake-up ms", 1},
          {"load", seen.state.load, "load", 2},
          {"slowdown", seen.state.slowdown},
          {"plans", seen.state.plans, "plans"},
          {"tasks", seen.state.tasks},
          {"weight_bytes", seen.state.weight_bytes}};
}

}  // namespace

Json to_json(const std::vector<MemberState>& members, const std::vector<MemberVisit>& visits) {
  Json list = Json::array(), refused = Json::array();
  for (const MemberState& member : members) {
    list.push_back({{"name", member.name},
                    {"role", net::to_string(member.role)},
                    {"expires", in_utc(member.expires)},
                    {"revoked", member.revoked}});
  }
  for (const MemberVisit& visit : visits) {
    for (const std::string& why : visit.refused) {
      refused.push_back({{"by", visit.name}, {"why", printable(why)}});
    }
  }
  return {{"members", std::move(list)}, {"refused", std::move(refused)}};
}

std::vector<Facts> rows_of(const std::vector<MemberState>& members, net::Time now) {
  std::vector<Facts> rows;
  for (const MemberState& member : members) {
    const char* state = member.revoked ? "removed" : member.expires <= now ? "expired" : "good";
    rows.push_back({shown("member", member.name),
                    shown("role", std::string(net::to_string(member.role))),
                    shown("certificate ends", in_utc(member.expires)), shown("state", state)});
  }
  return rows;
}

std::vector<std::string> refusals_in(const std::vector<MemberVisit>& visits) {
  std::vector<std::string> lines;
  for (const MemberVisit& visit : visits) {
    for (const std::string& why : visit.refused) {
      lines.push_back("refused by " + visit.name + ": " + printable(why));
    }
  }
  return lines;
}

std::vector<std::string> absent_in(const std::vector<MemberVisit>& visits) {
  std::vector<std::string> lines;
  for (const MemberVisit& visit : visits) {
    if (visit.status.ok()) continue;
    lines.push_back("not reached: " + printable(visit.status.message()));
  }
  return lines;
}

std::vector<std::string> renewals_in(const std::vector<MemberVisit>& visits) {
  std::vector<std::string> lines;
  for (const MemberVisit& visit : visits) {
    if (visit.renewed) lines.push_back("renewed: " + visit.name);
  }
  return lines;
}

std::string missed_renewals_in(const std::vector<MemberVisit>& visits) {
  const size_t missed = absent_in(visits).size();
  if (missed == 0) return "";
  return std::to_string(missed) + " of " + std::to_string(visits.size()) +
         " workers were not renewed";
}

Json to_json(std::span<const ListedWorker> workers,
             std::span<const Result<WorkerInspection>> inspected) {
  Json list = Json::array();
  for (size_t w = 0; w < workers.size(); ++w) {
    const auto& seen = inspected[w];
    Json worker = {{"name", workers[w].name},
                   {"address", workers[w].address},
                   {"health", seen.ok() ? "ok" : seen.status().message()}};
    if (seen.ok()) worker.update(object_of(facts_of(*seen)));
    list.push_back(std::move(worker));
  }
  return list;
}

std::vector<Facts> rows_of(std::span<const ListedWorker> workers,
                           std::span<const Result<WorkerInspection>> inspected) {
  std::vector<Facts> rows;
  for (size_t w = 0; w < workers.size(); ++w) {
    const bool ok = inspected[w].ok();
    Facts& row = rows.emplace_back(
        Facts{{"name", workers[w].name, "worker"}, {"address", workers[w].address, "address"}});
    for (Fact& fact : facts_of(ok ? *inspected[w] : WorkerInspection())) {
      if (!ok) fact.cell = "-";
      row.push_back(std::move(fact));
    }
    row.push_back(shown("health", ok ? "ok" : "gone"));
  }
  return rows;
}

std::string unanswered_in(std::span<const Result<WorkerInspection>> inspected) {
  const auto missing = std::ranges::count_if(inspected, [](const auto& one) { return !one.ok(); });
  if (missing == 0) return "";
  return std::to_string(missing) + " of " + std::to_string(inspected.size()) +
         " workers did not answer";
}

}  // namespace shoal::cluster

namespace shoal::emulate {

SettingList settings_of(WorkerServiceOptions& options) {
  return {
      Setting("threads", options.threads, "Threads to use; 0: one per core").in(0, 1024),
      Setting("memory", options.memory_mb,
              "Megabytes for weights and plans at most; 0: half of this machine's")
          .in(0, 1 << 24)
          .showing_default(),
      Setting("speed", options.speed, "Be as slow as this part of one core: 0.25")
          .in(0.001, 1)
          .hiding_default(),
      Setting("store", options.store,
              "Keep weights in this folder, for when the worker is started again"),
      Setting("quota", options.quota_mb, "Megabytes of weights in that folder at most")
          .in(0, 1 << 24),
  };
}

}  // namespace shoal::emulate

namespace shoal::net {

SettingList settings_of(TokenSource& source) {
  return {Setting("join", source.token,
                  "Join the cluster that printed this token; others on this machine can see it, "
                  "--join-file keeps it from them"),
          Setting("join-file", source.file, "The same, with the token in a file; - for stdin")};
}

}  // namespace shoal::net
