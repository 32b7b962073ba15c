#include "apps/commands/catalog/simulated_days.h"

#include <chrono>
#include <fstream>

#include "apps/commands/catalog/schedule_files.h"

namespace shoal::config {
namespace {

double microseconds() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<SimulatedDays> simulate_days(const DaysSettings& settings) {
  SimulatedDays all;
  SHOAL_ASSIGN(all.catalog, read_tasks(settings.catalog));
  SHOAL_ASSIGN(all.trace, read_trace(settings.trace, all.catalog));
  schedule::DaysOptions options{
      .days = settings.days, .seed = settings.seed, .microseconds = microseconds};
  std::ofstream log;
  if (!settings.log.empty()) {
    log.open(settings.log);
    if (!log) return invalid("cannot write " + settings.log);
    options.log = [&](const std::string& line) { log << line << "\n"; };
  }
  all.report = schedule::simulate_days(all.catalog, all.trace, options);
  if (log.is_open() && !log.flush()) return invalid("cannot write " + settings.log);
  return all;
}

}  // namespace shoal::config
