// Catalogs behind a server: each is a task, whose variants are models from which a scheduler
// chooses. Special networks may be made for it while the server runs [Han 2016].
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/serve/http/http_server.h"
#include "shoal/variants/catalog/specialists/specialise.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::serve {

// The budgets of a catalog's answers.
struct Allowed {
  // Practically unlimited, except for money: 0.
  schedule::Budgets budgets{
      .joules = 1e12, .dollars = 0, .bytes = int64_t{1} << 50, .seconds = 86'400};
  double latency_ms = std::numeric_limits<double>::infinity();
  double requests = 0;  // of a day, of each task
};

// "energy=50", in joules; money in dollars, memory in megabytes, latency in milliseconds, requests
// of a day, and the day in hours. The last one of a name counts. kInvalidArgument for other names
// and for numbers outside 0 to 1e12; `flag` is for the message.
Result<Allowed> parse_budgets(const std::string& flag, const std::vector<std::string>& texts);

// "price=0.5", in dollars an hour: the cost of asking another server; likewise mbit a second of the
// link, radio watts, speed relative to this device, and round-trip in milliseconds. Others are left
// alone. Fails as parse_budgets().
Status parse_costs(const std::string& flag, const std::vector<std::string>& texts,
                   schedule::Cloud& costs);

// Adds the variants of all catalogs in a folder to `sources`, as TASK.VARIANT, and their tasks to
// `tasks`. `complete` sets the common options of the server's models. Fails with kInvalidArgument
// if there is no catalog, a budget is invalid, or two of models and tasks have one name; with
// kCorrupt for an invalid catalog.
Status add_tasks(const std::filesystem::path& folder, const Allowed& allowed,
                 const std::function<Status(ModelSource&)>& complete,
                 std::vector<ModelSource>& sources, ChooserOptions& tasks);

// Makes networks for the classes that are seen, for the first task of `options`.
struct SpecialsOptions {
  std::filesystem::path folder;    // of the task's catalog
  catalog::SpecialiseOptions how;  // its recipe has the data; classes and file are not read
  // Makes the device for training, on first use.
  std::function<Result<std::unique_ptr<Device>>()> device;
};
// kInvalidArgument for an invalid recipe; fails as read_catalog() and open_variant() do.
Status add_specials_maker(const SpecialsOptions& specials, ServerOptions& options);

}  // namespace shoal::serve
