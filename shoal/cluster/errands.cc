#include "shoal/cluster/errands.h"

#include <utility>

namespace shoal::cluster {

Errands::~Errands() { join(); }

void Errands::run(std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  std::erase_if(errands_, [](Errand& errand) {
    if (!errand.over) return false;
    errand.thread.join();
    return true;
  });
  Errand& errand = errands_.emplace_back();
  errand.thread = std::thread([&errand, what = std::move(what)] {
    what();
    errand.over = true;
  });
}

void Errands::join() {
  const std::lock_guard lock(mutex_);
  for (Errand& errand : errands_) errand.thread.join();
  errands_.clear();
}

}  // namespace shoal::cluster
