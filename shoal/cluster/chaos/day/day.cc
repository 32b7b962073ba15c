// Requests come as a Poisson process whose rate follows the hour,
//
//   rate(t) = mean * (1 - 0.8 cos(2 pi t / day))
//
// drawn by thinning: candidates come at the highest rate and are kept with probability rate(t) /
// highest. Times between two losses of a worker, and until it joins again, are exponential. Half of
// the losses break the connection at once; the other half are silent, until heartbeats are missed.
#include "shoal/cluster/chaos/day/day.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "shoal/base/machine/machine.h"
#include "shoal/cluster/chaos/day/sim_team.h"
#include "shoal/plan/hierarchy/levels.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr double kSwing = 0.8;
constexpr uint64_t kClients = 16;
constexpr Time kBroken = 1ms;
// As of channels that hear nothing (cluster/net/channel).
constexpr Time kShortestSilence = 320ms, kLongestSilence = 480ms;

class Day {
 public:
  Day(const Graph& graph, const plan::ClusterProfile& cluster, const DayOptions& options,
      const std::function<void(double part)>& at)
      : options_(options),
        at_(at),
        groups_(similar_workers(plan::Choices(graph, cluster, {}), cluster)),
        plans_(graph, cluster, groups_),
        random_(options.seed),
        end_(in_seconds(3600 * options.hours)) {
    for (ValueId id : graph.inputs()) inputs_.emplace_back(graph[id].type);
  }

  Result<DayReport> run() {
    SHOAL_TRY(gather());
    next_request();
    tick();
    while (!over_ && clock_.step()) {
    }
    for (const auto& team : teams_) {
      report_.deployed += team->counts().deployed;
      report_.restored += team->counts().restored;
    }
    report_.searches = plans_.searches();
    report_.hash = journal_.hash();
    return std::move(report_);
  }

 private:
  static Time in_seconds(double seconds) { return Time(static_cast<int64_t>(1e9 * seconds)); }

  // In (0, 1].
  double uniform() {
    constexpr int64_t kSteps = int64_t{1} << 53;
    return static_cast<double>(random_.between(1, kSteps)) / static_cast<double>(kSteps);
  }
  Time exponential(double mean_seconds) { return in_seconds(-mean_seconds * std::log(uniform())); }

  double up_seconds() const { return 24 * 3600 / options_.losses; }
  double away_seconds() const { return 60 * options_.away_minutes; }

  // Makes the teams. Some members are away, as at any time.
  Status gather() {
    const double away_part = away_seconds() / (away_seconds() + up_seconds());
    for (const std::vector<int>& members : plan::make_teams(groups_, options_.team_size)) {
      cluster::Workers all, away;
      for (int place = 0; place < std::ssize(members); ++place) {
        all.insert(place);
        if (uniform() < away_part) away.insert(place);
      }
      SHOAL_TRY(plans_.find(members, all).status());
      const size_t number = teams_.size();
      teams_.push_back(std::make_unique<SimTeam>(
          clock_, plans_, members, away,
          [this](const cluster::RequestOutcome& outcome, Time took) { ended(outcome, took); }));
      for (int place : all) {
        away.contains(place) ? join_later(number, place) : lose_later(number, place);
      }
    }
    report_.teams = teams_.size();
    return {};
  }

  void lose_later(size_t team, int place) {
    if (options_.losses == 0) return;
    clock_.after(exponential(up_seconds()), [this, team, place] {
      const bool is_silent = random_.between(0, 1) == 1;
      ++report_.losses;
      journal_.note(clock_.now(), "lost", static_cast<int64_t>(team), place);
      teams_[team]->lose(place,
                         is_silent ? random_.between(kShortestSilence, kLongestSilence) : kBroken);
      join_later(team, place);
    });
  }

  void join_later(size_t team, int place) {
    clock_.after(exponential(away_seconds()), [this, team, place] {
      ++report_.joins;
      journal_.note(clock_.now(), "joined", static_cast<int64_t>(team), place);
      teams_[team]->come_back(place);
      lose_later(team, place);
    });
  }

  void next_request() {
    const double highest = (1 + kSwing) * options_.requests_per_second;
    clock_.after(exponential(1 / highest), [this] {
      if (clock_.now() >= end_) return;
      const double angle =
          2 * std::numbers::pi * std::chrono::duration<double>(clock_.now()).count() / (24 * 3600);
      if (uniform() * (1 + kSwing) <= 1 - kSwing * std::cos(angle)) submit();
      next_request();
    });
  }

  // To the team that should answer soonest; of equal ones, to each in turn.
  void submit() {
    ++report_.requests;
    size_t best = next_team_++ % teams_.size();
    double least = teams_[best]->expected_seconds();
    for (size_t i = 1, t = best; i < teams_.size(); ++i) {
      t = (t + 1) % teams_.size();
      const double seconds = teams_[t]->expected_seconds();
      if (seconds >= least) continue;
      least = seconds;
      best = t;
    }
    const auto client = static_cast<uint64_t>(random_.between(0, kClients - 1));
    teams_[best]->submit(inputs_, in_seconds(options_.timeout_seconds), client);
  }

  void ended(const cluster::RequestOutcome& outcome, Time took) {
    const Code code = outcome.status.code();
    journal_.note(clock_.now(), "ended", static_cast<int64_t>(code), took.count());
    if (outcome.replayed) ++report_.replayed;
    if (outcome.status.ok()) {
      ++report_.answered;
      report_.latencies.add(std::chrono::duration<double, std::milli>(took).count());
    } else {
      ++(code == Code::kExhausted ? report_.refused : report_.failed);
    }
  }

  // Every second: requests that are late, and whether the day is over.
  void tick() {
    for (const auto& team : teams_) team->expire();
    const auto is_idle = [](const auto& team) { return team->open() == 0; };
    over_ = clock_.now() >= end_ && std::ranges::all_of(teams_, is_idle);
    if (at_)
      at_(std::min(1.0,
                   static_cast<double>(clock_.now().count()) / static_cast<double>(end_.count())));
    clock_.after(1s, [this] { tick(); });
  }

  const DayOptions options_;
  const std::function<void(double part)>& at_;
  const std::vector<plan::Choices::Group> groups_;
  TeamPlans plans_;
  Clock clock_;
  Random random_;
  Journal journal_;
  const Time end_;
  bool over_ = false;
  size_t next_team_ = 0;
  std::vector<Tensor> inputs_;
  DayReport report_;
  std::vector<std::unique_ptr<SimTeam>> teams_;
};

Status check(const DayOptions& options) {
  const auto is_in = [](double x, double low, double high) { return low <= x && x <= high; };
  const bool fits = is_in(options.hours, 1e-3, 24 * 366) &&
                    is_in(options.requests_per_second, 1e-6, 1e6) &&
                    is_in(options.losses, 0, 1e5) && is_in(options.away_minutes, 1e-3, 1e6) &&
                    is_in(options.timeout_seconds, 1e-3, 1e6);
  if (!fits) return invalid("a day needs hours, requests, losses and times within reason");
  if (options.team_size == 0) return invalid("a team needs a worker");
  return {};
}

}  // namespace

Facts facts_of(const DayReport& report, size_t workers, double seconds) {
  return {{"workers", workers, "workers"},
          {"teams", report.teams, "teams"},
          counted("requests", report.requests, "requests"),
          counted("answered", report.answered, "answered"),
          counted("refused", report.refused, "refused"),
          counted("failed", report.failed, "failed"),
          counted("replayed", report.replayed, "replayed"),
          {"losses", report.losses},
          {"joins", report.joins},
          {"searches", report.searches},
          {"deployed", report.deployed},
          {"restored", report.restored},
          {"p50_ms", report.latencies.quantile(0.5), "p50 ms", 1},
          {"p99_ms", report.latencies.quantile(0.99), "p99 ms", 1},
          {"longest_ms", report.latencies.max(), "longest ms", 1},
          {"hash", report.hash},
          {"seconds", seconds},
          {"memory_bytes", peak_memory_bytes()}};
}

std::vector<std::string> lines_of(const DayReport& report, double seconds) {
  const auto count = [](uint64_t n) { return with_commas(static_cast<long long>(n)); };
  return {count(report.losses) + " losses, " + count(report.joins) + " joins; " +
              count(report.searches) + " plans searched, deployed " + count(report.deployed) +
              " times and " + count(report.restored) + " times given back",
          "simulated in " + fixed(seconds, 1) + " s with " +
              in_bytes(static_cast<long long>(peak_memory_bytes()))};
}

Result<DayReport> simulate_day(const Graph& graph, const plan::ClusterProfile& cluster,
                               const DayOptions& options,
                               const std::function<void(double part)>& at) {
  SHOAL_TRY(check(options));
  if (plan::count_present(cluster) == 0) return invalid("there is no worker");
  return Day(graph, cluster, options, at).run();
}

}  // namespace shoal::chaos
