#include "shoal/cluster/fleet.h"

#include <algorithm>

#include "shoal/base/modest.h"

namespace shoal::cluster {

Fleet::Fleet(Coordinator& coordinator, FleetOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
      roster_(options_.standby),
      is_whole_([this](uint64_t plan) { return remotes_.at(plan)->is_whole(); }),
      service_(coordinator.make_service()) {}

Result<std::unique_ptr<Fleet>> Fleet::start(Coordinator& coordinator, FleetOptions options) {
  std::unique_ptr<Fleet> fleet(new Fleet(coordinator, std::move(options)));
  SHOAL_ASSIGN(const Made* first, fleet->plan_for(fleet->present()));
  fleet->first_ = &first->prediction;
  SHOAL_TRY(fleet->deploy_for(fleet->present()));
  coordinator.watch(fleet.get(), [self = fleet.get()] { self->wake(); });
  fleet->keeper_ = std::thread([self = fleet.get()] { self->keep(); });
  return fleet;
}

Fleet::~Fleet() {
  coordinator_.watch(this, nullptr);
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
  coordinator_.offer(service_, {});
}

Status Fleet::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                  std::chrono::milliseconds patience) {
  // Whoever asks once is not to wait for plans that nobody will need.
  if (++asked_ == 2) wake();
  return coordinator_.run(service_, inputs, outputs, patience, nullptr);
}

void Fleet::wake() {
  const std::lock_guard lock(mutex_);
  news_ = true;
  settled_ = false;
  changed_.notify_all();
}

void Fleet::settle() {
  wake();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return settled_; });
}

size_t Fleet::deployed() const {
  const std::lock_guard lock(mutex_);
  return deployed_;
}

Workers Fleet::present() const {
  Workers all;
  for (size_t w = 0; w < coordinator_.workers().size(); ++w) all.insert(static_cast<int>(w));
  for (int worker : coordinator_.lost()) all.erase(worker);
  return all;
}

void Fleet::keep() {
  for (;;) {
    std::unique_lock lock(mutex_);
    const auto is_woken = [&] { return news_ || over_; };
    if (options_.look_again.count() > 0) {
      changed_.wait_for(lock, options_.look_again, is_woken);
    } else {
      changed_.wait(lock, is_woken);
    }
    if (over_) return;
    news_ = false;
    lock.unlock();
    look_for_the_lost();
    const Mended mended = mend();
    lock.lock();
    if (news_ || mended == Mended::kForNow) continue;
    settled_ = true;
    changed_.notify_all();
  }
}

void Fleet::look_for_the_lost() {
  if (options_.look_again.count() == 0) return;
  for (int worker : coordinator_.lost()) {
    if (!coordinator_.revive(worker).ok()) continue;
    roster_.forgive();
  }
}

// Makes what is missing. A loss in the middle of it begins it again.
Fleet::Mended Fleet::mend() {
  const Workers all = present();
  if (all.empty()) {
    coordinator_.give_up(service_, Status(Code::kUnavailable, "no worker is left"));
    return Mended::kAsCanBe;
  }
  if (!restore(all)) return Mended::kAsCanBe;
  const bool waits = is_expected_back(all);
  while (const std::optional<Workers> set = roster_.next(all, is_whole_, !waits)) {
    const Status status = deploy_for(*set);
    if (is_interrupted()) return Mended::kAsCanBe;
    if (status.ok()) continue;
    // Of that loss we are about to hear.
    if (status.code() == Code::kUnavailable) return Mended::kAsCanBe;
    roster_.refuse(*set);
    if (*set == all) coordinator_.give_up(service_, status);
  }
  if (waits) return Mended::kForNow;
  retire();
  return Mended::kAsCanBe;
}

// Who came back gets the plans that he had; all others have them still.
bool Fleet::restore(const Workers& present) {
  for (uint64_t plan : roster_.restorable(present, is_whole_)) {
    const Status status = remotes_.at(plan)->restore();
    if (is_interrupted()) return false;
    if (status.code() == Code::kUnavailable) return false;
    if (status.ok()) continue;
    roster_.drop(plan);  // another takes its place
    retired_.insert(plan);
  }
  return true;
}

bool Fleet::is_interrupted() {
  const std::lock_guard lock(mutex_);
  return over_ || news_;
}

bool Fleet::is_expected_back(const Workers& present) {
  const auto now = std::chrono::steady_clock::now();
  if (!std::ranges::includes(present, latest_)) lost_at_ = now;
  latest_ = present;
  const bool all = present.size() == coordinator_.workers().size();
  return !all && options_.look_again.count() > 0 && now < lost_at_ + options_.grace;
}

Result<Fleet::Made> Fleet::make_plan(const Workers& set) const {
  SHOAL_ASSIGN(plan::Prediction prediction, options_.plan(set));
  SHOAL_ASSIGN(BriefingPtr briefing, coordinator_.brief(prediction.graph, prediction.plan));
  return Made{std::move(prediction), std::move(briefing)};
}

Result<const Fleet::Made*> Fleet::plan_for(const Workers& set) {
  std::unique_ptr<Made>& known = plans_[set];
  if (known == nullptr) {
    Result<Made> made = Status(Code::kInternal, "not planned");
    const auto make = [&] { made = make_plan(set); };
    remotes_.empty() ? make() : run_modestly(make);  // nobody is slowed down by the first
    if (!made.ok()) return made.status();
    known = std::make_unique<Made>(*std::move(made));
  }
  return static_cast<const Made*>(known.get());
}

Status Fleet::deploy_for(const Workers& set) {
  SHOAL_ASSIGN(const Made* made, plan_for(set));
  SHOAL_ASSIGN(auto remote, coordinator_.deploy(made->briefing));
  const std::vector<int>& uses = remote->workers();
  roster_.add(set, remote->id(), {uses.begin(), uses.end()});
  remotes_.emplace(remote->id(), std::move(remote));
  coordinator_.offer(service_, roster_.order(), true);
  return {};
}

void Fleet::retire() {
  for (uint64_t plan : roster_.retire(present(), is_whole_)) retired_.insert(plan);
  coordinator_.offer(service_, roster_.order(), true);
  std::erase_if(retired_, [&](uint64_t plan) {
    return !remotes_.at(plan)->in_use() && remotes_.erase(plan) > 0;
  });
  const std::lock_guard lock(mutex_);
  deployed_ = remotes_.size() - retired_.size();
}

}  // namespace shoal::cluster
