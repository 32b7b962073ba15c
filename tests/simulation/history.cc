// Machine 0 is the director: it draws what happens, and when, and does it. It is never interrupted.
#include "history.h"

#include <cstdio>
#include <functional>

#include "client.h"
#include "heap.h"
#include "hostile.h"
#include "shoal/cluster/profiling/worker_probe.h"
#include "worker_machine.h"

namespace shoal::simulation {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kBusy = 3 * kSecond;  // in which things happen
constexpr Nanos kSettle = 8 * kSecond;
constexpr Nanos kDeafness = 6 * kSecond;
// Longer than a deployment waits for an answer, which then comes when the next plan is deployed.
constexpr Nanos kLongDeafness = 30 * kSecond, kLongestDeafness = 40 * kSecond;
// Longer than any timeout of production code, but the one of compiling.
constexpr Nanos kPatience = 100 * kSecond;
constexpr Nanos kSlowCompile = 610 * kSecond;
constexpr int kSlower = 25;  // heartbeats and retries, where compiling is slow

Nanos between(Nanos least, Nanos most) {
  return least + static_cast<Nanos>(draw(static_cast<uint64_t>(most - least) + 1));
}
milliseconds to_ms(Nanos time) { return milliseconds(time / kMillisecond); }

class History {
 public:
  History(const Scene& scene, Report& report, std::filesystem::path folder, bool tells)
      : tells_(tells),
        is_slow_(one_in(40)),
        world_{scene, report, Network(draw_speed()), {}, std::move(folder)} {
    // Minutes of heartbeats would take long to simulate.
    if (is_slow_) world_.channel.beat *= kSlower;
  }

  [[noreturn]] void live();

 private:
  static Speed draw_speed() {
    return {.latency = between(50 * kMicrosecond, 8 * kMillisecond),
            .jitter = one_in(2) ? 0 : between(0, 3 * kMillisecond),
            .bytes_per_second = one_in(4) ? 1e6 : 1e8,
            .capacity = one_in(4) ? size_t{2} << 10 : size_t{64} << 10};
  }

  void at(Nanos time, std::function<void()> what) { events_.emplace(time, std::move(what)); }
  void soon(std::function<void()> what) {
    at(begin_ + between(0, is_slow_ ? 3 * kSlowCompile : kBusy), std::move(what));
  }
  void tell(const std::string& what) const {
    if (!tells_) return;
    std::printf("%9.3f ms  %s\n", static_cast<double>(now() - begin_) / 1e6, what.c_str());
    std::fflush(stdout);  // the process may end at any moment
  }

  void add_client(bool is_exclusive);
  void draw_requests();
  void draw_faults();
  void draw_fault();
  void disturb();

  WorkerMachine& any_worker() { return *workers_[draw(workers_.size())]; }
  Client& any_client() { return *clients_[draw(clients_.size())]; }
  void note_fault(int worker, bool is_noticed = true);
  void make_deaf(size_t worker);
  void lose(WorkerMachine& worker);
  void lose_client();
  void hold_back();
  void take_over();
  void compile_slowly();

  void settle();
  void ask_last();
  void end_clients();
  void end_workers();
  void await(Nanos patience, const char* what, const std::function<bool()>& is_so);

  const bool tells_, is_slow_;
  World world_;
  Nanos begin_ = now();
  std::multimap<Nanos, std::function<void()>> events_;
  std::vector<WorkerMachine*> workers_;
  std::vector<Client*> clients_;
  int strangers_ = 0;  // that have not ended
};

void History::live() {
  const bool is_exclusive = !world_.folder.empty();
  for (int i = 0; i < world_.scene.workers; ++i) {
    workers_.push_back(new WorkerMachine(world_, i));
    workers_.back()->start();
  }
  if (is_slow_) compile_slowly();
  add_client(is_exclusive);
  draw_requests();
  draw_faults();
  while (!events_.empty()) {
    const auto next = events_.begin();
    sleep_until(next->first);
    const std::function<void()> what = std::move(next->second);
    events_.erase(next);
    what();
  }
  settle();
  ask_last();
  end_clients();
  end_workers();
  world_.report.hash = hash();
  if (thread_count() > 1) violate(world_.report, "threads are left over");
  finish(world_.report);
}

void History::add_client(bool is_exclusive) {
  ClientOptions options{.name = "coordinator-" + std::to_string(clients_.size()),
                        .is_exclusive = is_exclusive};
  options.deployments = one_in(3) ? 2 : 1;
  options.standby = one_in(2);
  options.retry_interval = to_ms(between(20 * kMillisecond, 300 * kMillisecond));
  if (is_slow_) options.retry_interval *= kSlower;
  options.grace = one_in(2) ? milliseconds(0) : to_ms(between(0, 2 * kSecond));
  tell(options.name + " begins" + (is_exclusive ? ", to be in charge alone" : ""));
  clients_.push_back(new Client(world_, std::move(options)));
  clients_.back()->start();
}

void History::draw_requests() {
  // Some have hardly the time, so that their ends meet everything else.
  const auto timeout = [] {
    return one_in(4) ? to_ms(between(kMillisecond, 100 * kMillisecond)) : milliseconds(5'000);
  };
  for (uint64_t i = 1 + draw(8); i > 0; --i) soon([=, this] { any_client().ask(timeout()); });
  if (one_in(3)) soon([=, this] { any_client().measure(timeout()); });
  if (one_in(4)) {
    soon([this] {
      tell("the model is upgraded");
      any_client().upgrade();
    });
  }
  if (!one_in(10)) return;
  soon([this] {
    tell("a hundred requests at once");
    Client& client = any_client();
    for (int i = 0; i < 100; ++i) client.ask(milliseconds(5'000));
  });
}

// Half of the histories have no more than one fault, so that much has to go well.
void History::draw_faults() {
  if (is_slow_) return;
  const uint64_t faults = one_in(2) ? draw(2) : 1 + draw(4);
  for (uint64_t i = 0; i < faults; ++i) soon([this] { draw_fault(); });
  if (one_in(4)) soon([this] { disturb(); });
}

// The fault costs at most one worker, or more: -1.
void History::note_fault(int worker, bool is_noticed) {
  world_.lost_worker = world_.faults == 0 ? worker : -1;
  world_.is_noticed = is_noticed;
  ++world_.faults;
}

void History::draw_fault() {
  const size_t w = draw(workers_.size());
  WorkerMachine& worker = *workers_[w];
  switch (draw(9)) {
    case 0:
    case 1:
    case 2:
      if (!worker.is_up()) return;
      note_fault(static_cast<int>(w));
      return lose(worker);
    case 3: {
      note_fault(static_cast<int>(w));
      const Nanos time = between(10 * kMillisecond, kSecond);
      tell(worker.name() + " is frozen for " + std::to_string(time / kMillisecond) + " ms");
      return freeze(worker.machine(), now() + time);
    }
    case 4:
      note_fault(-1);
      return hold_back();
    case 5: {
      note_fault(-1);
      WorkerMachine& other = any_worker();
      const int machine = one_in(2) ? any_client().machine() : other.machine();
      tell("connections of " + worker.name() + " break");
      return world_.network.break_between(worker.machine(), machine);
    }
    case 6:
      return take_over();
    case 7:
      return make_deaf(w);
    default:
      note_fault(-1);
      return lose_client();
  }
}

void History::lose(WorkerMachine& worker) {
  const uint64_t how = draw(3);
  if (how == 0) {
    tell(worker.name() + " is stopped");
    worker.stop();
  } else {
    tell(worker.name() + (how == 1 ? " is killed" : " loses power"));
    worker.kill(how == 2);
  }
  at(now() + between(kMillisecond, kBusy), [this, &worker] {
    // One that is stopped may take its time.
    await(kPatience, "a worker to stop", [&] { return worker.has_stopped(); });
    tell(worker.name() + " is started again");
    worker.start();
  });
}

// It sends heartbeats, but does not read its messages.
void History::make_deaf(size_t w) {
  note_fault(static_cast<int>(w), false);
  WorkerMachine& worker = *workers_[w];
  Nanos& deafness = worker.hearing().time;
  deafness =
      one_in(3) ? between(kLongDeafness, kLongestDeafness) : between(100 * kMillisecond, kDeafness);
  tell(worker.name() + " does not read");
  at(now() + between(100 * kMillisecond, kBusy), [&deafness] { deafness = 0; });
}

void History::lose_client() {
  Client& client = any_client();
  if (client.is_dead()) return;
  tell("a coordinator is killed");
  client.kill();
  at(now() + between(0, kSecond), [this] { take_over(); });
}

// An exclusive coordinator, or one more that shares.
void History::take_over() {
  const bool is_exclusive = clients_.front()->is_exclusive();
  if (is_exclusive) {
    for (Client* client : clients_) client->fence();
  }
  add_client(is_exclusive);
}

void History::hold_back() {
  const int one = any_worker().machine();
  const int other = one_in(2) ? any_client().machine() : any_worker().machine();
  const Nanos until = now() + between(10 * kMillisecond, 1500 * kMillisecond);
  const uint64_t how = draw(3);
  tell("machines " + std::to_string(one) + " and " + std::to_string(other) +
       " do not hear each other for " + std::to_string((until - now()) / kMillisecond) + " ms");
  if (how != 0) world_.network.hold_back(one, other, until);
  if (how != 1) world_.network.hold_back(other, one, until);
}

// Disturbances that must not cost any request.
void History::disturb() {
  const int worker = static_cast<int>(draw(workers_.size()));
  const bool is_probe = one_in(2);
  tell(is_probe ? "a worker is measured" : "a member is hostile");
  ++strangers_;
  const int machine = make_machine(is_probe ? "prober" : "hostile", 0);
  detach(spawn(machine, [this, worker, is_probe] {
    if (is_probe) {
      const auto transport =
          world_.network.transport("prober", net::Role::kCoordinator, world_.channel);
      auto probe =
          cluster::WorkerProbe::open({worker_name(worker), worker_name(worker)}, *transport);
      const Graph& graph = world_.scene.plans.at({worker}).graph();
      if (probe.ok()) static_cast<void>(probe->time(std::span(&graph, 1), 0.05));
    } else {
      be_hostile(world_, worker);
    }
    --strangers_;
  }));
}

// The first plans are not compiled in time, but later: one task takes longer than the ten minutes
// that production code waits.
void History::compile_slowly() {
  world_.is_slow = true;
  Nanos& compiling = any_worker().compiling().time;
  const Nanos before = compiling;
  compiling = kSlowCompile + between(0, kSlowCompile / 2);
  at(begin_ + between(kSecond, 2 * kSlowCompile), [&compiling, before] { compiling = before; });
}

void History::settle() {
  await(is_slow_ ? 2 * kSlowCompile : 2 * kLongestDeafness, "workers to wake up", [&] {
    return std::ranges::all_of(workers_, [](auto* worker) {
      return worker->hearing().sleepers == 0 && worker->compiling().sleepers == 0;
    });
  });
  sleep_until(now() + (is_slow_ ? kSlower : 1) * kSettle);
  tell("all has been well for long");
}

// One after the other: production code may refuse a second one for as long as the last it knows of
// took too long.
void History::ask_last() {
  for (int i = 0; i < 2; ++i) {
    for (Client* client : clients_) {
      if (client->is_dead() || client->is_fenced()) continue;
      if (!client->is_ready()) violate(world_.report, "a coordinator has still no deployment");
      client->ask(milliseconds(5'000), true);
    }
    await(kPatience, "requests to end", [&] {
      return std::ranges::none_of(
          clients_, [](auto* client) { return !client->is_dead() && client->is_busy(); });
    });
  }
}

void History::end_clients() {
  for (Client* client : clients_) client->end();
  await(kPatience + (is_slow_ ? 4 * kSlowCompile : 0), "coordinators to end", [&] {
    return std::ranges::all_of(
        clients_, [](auto* client) { return client->is_dead() || client->has_ended(); });
  });
  await(kPatience, "strangers to end", [&] { return strangers_ == 0; });
}

void History::end_workers() {
  tell("workers are stopped");
  for (WorkerMachine* worker : workers_) worker->stop();
  await(kPatience, "workers to stop", [&] {
    return std::ranges::all_of(workers_, [](auto* worker) { return worker->has_stopped(); });
  });
}

void History::await(Nanos patience, const char* what, const std::function<bool()>& is_so) {
  const Nanos deadline = now() + patience;
  for (Nanos pause = 10 * kMicrosecond; !is_so(); pause = std::min(2 * pause, kSecond / 4)) {
    if (now() > deadline) violate(world_.report, "waited in vain for " + std::string(what));
    sleep_until(now() + pause);
  }
}

}  // namespace

void live_through(uint64_t seed, const Scene& scene, Report& report,
                  const std::filesystem::path& folder, bool tells) {
  Disorder disorder{.seed = seed};
  constexpr uint32_t kInterrupts[] = {0, 2, 8, 64};
  disorder.interrupt_one_in = kInterrupts[seed / 3 % 4];
  if (seed / 12 % 4 == 0) {
    disorder.delay_one_in = 3000;
    disorder.longest_delay = 30 * kMillisecond;
  }
  set_disorder(disorder);
  set_last_resort(now() + 24 * 3600 * kSecond,
                  [&report](const std::string& why) { violate(report, why); });
  stop_reusing_memory();
  const bool has_files = seed / 48 % 3 == 0;
  (new History(scene, report, has_files ? folder : "", tells))->live();
}

}  // namespace shoal::simulation
