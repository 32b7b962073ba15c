#include "deploy_progress.h"

#include <memory>
#include <optional>

#include "../progress.h"

namespace shoal::cli {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

class Bar {
 public:
  void at(const cluster::WeightsProgress& progress) {
    uint64_t done = 0, total = 0;
    for (const auto& [worker, one] : progress) {
      done += one.done;
      total += one.total;
    }
    if (total < kMegabyte) return;
    if (!bar_) bar_.emplace("weights", total / kMegabyte);
    bar_->at(done / kMegabyte, "MB to " + std::to_string(progress.size()) + " workers");
    if (done == total) bar_.reset();
  }

 private:
  std::optional<ProgressBar> bar_;
};

}  // namespace

std::function<Status(const cluster::WeightsProgress&)> draw_deployments() {
  return [bar = std::make_shared<Bar>()](const cluster::WeightsProgress& progress) {
    bar->at(progress);
    return Status();
  };
}

}  // namespace shoal::cli
