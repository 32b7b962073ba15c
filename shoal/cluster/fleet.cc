#include "shoal/cluster/fleet.h"

#include <algorithm>

namespace shoal::cluster {

std::vector<Workers> sets_to_plan_for(const Workers& present, bool standby) {
  if (present.empty()) return {};
  std::vector<Workers> sets = {present};
  if (!standby || present.size() == 1) return sets;
  for (int worker : present) {
    Workers fewer = present;
    fewer.erase(worker);
    sets.push_back(std::move(fewer));
  }
  return sets;
}

Fleet::Fleet(Coordinator& coordinator, FleetOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
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
  return deployed_.size();
}

Workers Fleet::present() const {
  Workers all;
  for (size_t w = 0; w < coordinator_.workers().size(); ++w) all.insert(static_cast<int>(w));
  for (int worker : coordinator_.lost()) all.erase(worker);
  return all;
}

void Fleet::keep() {
  for (;;) {
    mend();
    std::unique_lock lock(mutex_);
    if (!news_) {
      settled_ = true;
      changed_.notify_all();
    }
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
  }
}

void Fleet::look_for_the_lost() {
  if (options_.look_again.count() == 0) return;
  for (int worker : coordinator_.lost()) {
    if (!coordinator_.revive(worker).ok()) continue;
    refused_.clear();
  }
}

// Makes what is missing. A loss in the middle of it begins it again.
void Fleet::mend() {
  const Workers all = present();
  const std::vector<Workers> wanted = sets_to_plan_for(all, options_.standby);
  if (wanted.empty()) {
    return coordinator_.give_up(service_, Status(Code::kUnavailable, "no worker is left"));
  }
  for (const Workers& set : wanted) {
    if (has_plan_for(set) || refused_.contains(set)) continue;
    const Status status = deploy_for(set);
    {
      const std::lock_guard lock(mutex_);
      if (over_ || news_) return;
    }
    if (status.ok()) continue;
    if (status.code() == Code::kUnavailable) return;  // of that loss we are about to hear
    refused_.insert(set);
    if (set == all) coordinator_.give_up(service_, status);
  }
  retire(wanted);
}

bool Fleet::has_plan_for(const Workers& set) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(deployed_, [&](const Deployed& one) {
    // The best for more workers, if it leaves alone those that are not in the set.
    const bool serves =
        std::ranges::includes(one.set, set) && std::ranges::includes(set, one.remote->workers());
    return serves && one.remote->is_whole();
  });
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
  {
    const std::lock_guard lock(mutex_);
    deployed_.push_back({set, std::move(remote)});
    std::ranges::stable_sort(deployed_, std::greater<>(),
                             [](const Deployed& one) { return one.set.size(); });
  }
  publish();
  return {};
}

void Fleet::publish() {
  std::vector<uint64_t> courses;
  {
    const std::lock_guard lock(mutex_);
    for (const Deployed& one : deployed_) courses.push_back(one.remote->id());
  }
  coordinator_.offer(service_, std::move(courses), true);
}

// Plans of workers that are gone, or that others have taken the place of: no request begins by them
// any more, and they end with the last that did.
void Fleet::retire(const std::vector<Workers>& wanted) {
  {
    const std::lock_guard lock(mutex_);
    const auto is_kept = [&](const Deployed& one) {
      return one.remote->is_whole() && std::ranges::find(wanted, one.set) != wanted.end();
    };
    const auto first = std::stable_partition(deployed_.begin(), deployed_.end(), is_kept);
    // While nothing else is there, a damaged plan is better than none.
    if (first == deployed_.begin()) return;
    std::move(first, deployed_.end(), std::back_inserter(retired_));
    deployed_.erase(first, deployed_.end());
  }
  publish();
  std::erase_if(retired_, [&](const Deployed& one) { return !one.remote->in_use(); });
}

}  // namespace shoal::cluster
