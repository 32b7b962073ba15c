// shoal cluster, shoal devices and shoal worker: the settings of a worker, and the rows, JSON
// fields and sentences about members and workers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/cluster/emulate/workers/worker_service.h"
#include "shoal/cluster/members/member_upkeep.h"
#include "shoal/cluster/net/enrol/token_source.h"
#include "shoal/cluster/profiling/profiling.h"

namespace shoal::cluster {

// The certificates of members, and the peers that visited workers refused.
Json to_json(const std::vector<MemberState>& members, const std::vector<MemberVisit>& visits);
std::vector<Facts> rows_of(const std::vector<MemberState>& members, net::Time now);
std::vector<std::string> refusals_in(const std::vector<MemberVisit>& visits);
// The reasons why some were not reached, a line for each.
std::vector<std::string> absent_in(const std::vector<MemberVisit>& visits);
// The renewed workers, a line for each.
std::vector<std::string> renewals_in(const std::vector<MemberVisit>& visits);
// How many of the workers that should have been renewed were not; empty if all were.
std::string missed_renewals_in(const std::vector<MemberVisit>& visits);

// Workers in their present state, or their errors. REQUIRES: as many of each.
Json to_json(std::span<const ListedWorker> workers,
             std::span<const Result<WorkerInspection>> inspected);
std::vector<Facts> rows_of(std::span<const ListedWorker> workers,
                           std::span<const Result<WorkerInspection>> inspected);

// How many of them did not answer; empty if all did.
std::string unanswered_in(std::span<const Result<WorkerInspection>> inspected);

}  // namespace shoal::cluster

namespace shoal::emulate {

// The resources that a worker may use. The device is not among these settings: only the program
// knows the available ones.
SettingList settings_of(WorkerServiceOptions& options);

}  // namespace shoal::emulate

namespace shoal::net {

SettingList settings_of(TokenSource& source);

}  // namespace shoal::net
