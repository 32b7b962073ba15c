#include "shoal/cluster/fleet.h"

namespace shoal::cluster {

Fleet::Fleet(Coordinator& coordinator, FleetOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
      roster_(options_.standby),
      is_whole_([this](uint64_t plan) { return remotes_.at(plan)->is_whole(); }),
      service_(coordinator.make_service()) {}

Result<std::unique_ptr<Fleet>> Fleet::start(Coordinator& coordinator, FleetOptions options) {
  std::unique_ptr<Fleet> fleet(new Fleet(coordinator, std::move(options)));
  SHOAL_ASSIGN(fleet->first_, fleet->plan_for(fleet->present()));
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
    mend();
    lock.lock();
    if (news_) continue;
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
void Fleet::mend() {
  const Workers all = present();
  if (all.empty()) {
    return coordinator_.give_up(service_, Status(Code::kUnavailable, "no worker is left"));
  }
  while (const std::optional<Workers> set = roster_.next(all, is_whole_)) {
    const Status status = deploy_for(*set);
    {
      const std::lock_guard lock(mutex_);
      if (over_ || news_) return;
    }
    if (status.ok()) continue;
    if (status.code() == Code::kUnavailable) return;  // of that loss we are about to hear
    roster_.refuse(*set);
    if (*set == all) coordinator_.give_up(service_, status);
  }
  retire();
}

Result<const plan::Prediction*> Fleet::plan_for(const Workers& set) {
  std::unique_ptr<plan::Prediction>& known = plans_[set];
  if (known == nullptr) {
    SHOAL_ASSIGN(plan::Prediction made, options_.plan(set));
    known = std::make_unique<plan::Prediction>(std::move(made));
  }
  return static_cast<const plan::Prediction*>(known.get());
}

Status Fleet::deploy_for(const Workers& set) {
  SHOAL_ASSIGN(const plan::Prediction* prediction, plan_for(set));
  SHOAL_ASSIGN(auto remote, coordinator_.deploy(prediction->graph, prediction->plan));
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
