#include "shoal/serve/leader/leadership.h"

#include <algorithm>
#include <random>
#include <utility>

#include "shoal/base/text/printable.h"

namespace shoal::serve {
namespace {

// Two random words tell all candidates apart.
std::string make_id(const std::string& name) {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) id += std::to_string(device()) + "-";
  return id + name;
}

LeadershipOptions with_timeout(LeadershipOptions options) {
  options.store.timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(Election::answer_timeout(options.ttl));
  return options;
}

}  // namespace

Leadership::Leadership(LeadershipOptions options) : options_(with_timeout(std::move(options))) {}

Leadership::~Leadership() { resign(); }

void Leadership::stand(const std::string& name) {
  thread_ = std::thread([this, name] { run(Election({make_id(name), options_.ttl})); });
}

void Leadership::resign() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Leadership::run(Election election) {
  EtcdStore store(options_.store);
  std::unique_lock lock(mutex_);
  while (!over_) {
    lock.unlock();
    ask(election, store);
    report();
    const auto until = std::max(election.wake() - BootClock::now(), BootClock::duration(0));
    lock.lock();
    changed_.wait_for(lock, until, [this] { return over_; });
  }
  lock.unlock();
  election.resign();
  leads_until_ns_ = election.leads_until().time_since_epoch().count();
  ask(election, store);
  report();
}

void Leadership::ask(Election& election, EtcdStore& store) {
  const auto request = election.next(BootClock::now());
  if (!request) return;
  const auto answer = store.ask(*request);
  election.answered(answer.ok() ? std::optional(*answer) : std::nullopt, BootClock::now());
  leads_until_ns_ = election.leads_until().time_since_epoch().count();
  if (was_answered_ != answer.ok()) {
    options_.log(answer.ok()
                     ? "the store answers again"
                     : "the store does not answer: " + printable(answer.status().message(), 200));
  }
  was_answered_ = answer.ok();
}

void Leadership::report() {
  if (was_leading_ == leads()) return;
  was_leading_ = !was_leading_;
  options_.log(was_leading_ ? "this server leads" : "this server stands by");
}

}  // namespace shoal::serve
