#include "shoal/cluster/training/step_view.h"

#include <algorithm>
#include <utility>

#include "shoal/base/terminal/table.h"
#include "shoal/base/text/printable.h"

namespace shoal::train_cluster {
namespace {

size_t at_least_one(int64_t steps) { return static_cast<size_t>(std::max<int64_t>(steps, 1)); }

}  // namespace

std::vector<std::string> device_lines(const learn::RunRecord& record) {
  constexpr size_t kMost = 24;  // of a name, which is the worker's own
  Table table(learn::device_header());
  for (const auto& [worker, device] : record.devices) {
    std::vector<std::string> cells = device_cells(record, device);
    cells[0] = printable(cells[0], kMost);
    table.add(std::move(cells));
  }
  return table.lines();
}

StepView::StepView(Options& options, bool has_table, Show show)
    : picture_{.steps = at_least_one(options.steps)}, show_(std::move(show)) {
  options.on_step = [this](int64_t step, double loss) { end_step(step, loss); };
  if (has_table) options.on_devices = [this](const learn::RunRecord& record) { see(record); };
}

void StepView::end_step(int64_t step, double loss) {
  picture_.done = static_cast<size_t>(step) + 1;
  picture_.note = "loss " + fixed(loss, 4);
  show_(picture_);
}

void StepView::see(const learn::RunRecord& record) {
  picture_.steps = at_least_one(record.steps);
  picture_.table = device_lines(record);
  if (picture_.done > 0) show_(picture_);
}

}  // namespace shoal::train_cluster
