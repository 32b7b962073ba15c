// Catalogs behind a server: each is a task, whose variants are models from which a scheduler
// chooses, and for which special networks may be made while the server runs [Han 2016].
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

// What the answers of a catalog may cost.
struct Allowed {
  // As good as none, but for money, of which there is none.
  schedule::Budgets budgets{
      .joules = 1e12, .dollars = 0, .bytes = int64_t{1} << 50, .seconds = 86'400};
  double latency_ms = std::numeric_limits<double>::infinity();
  double requests = 0;  // of a day, of each task
};

// "energy=50", in joules; money in dollars, memory in megabytes, latency in milliseconds, requests
// of a day, and the day in hours. The last one of a name counts. kInvalidArgument for other names
// and for what is no number from 0 to 1e12; `flag` is for the message.
Result<Allowed> parse_budgets(const std::string& flag, const std::vector<std::string>& texts);

// "price=0.5", in dollars an hour: what it takes to ask another server; likewise mbit a second of
// the link, radio watts, speed in that of this device, and round-trip in milliseconds. What is not
// named stays as it is. Fails as parse_budgets().
Status parse_costs(const std::string& flag, const std::vector<std::string>& texts,
                   schedule::Cloud& costs);

// Adds the variants of all catalogs in a folder to `sources`, as TASK.VARIANT, and their tasks to
// `tasks`. `complete` sets what the models of the server have in common. Fails with
// kInvalidArgument where there is no catalog, a budget cannot be, or two of models and tasks have
// one name; with kCorrupt where a catalog says what cannot be.
Status add_tasks(const std::filesystem::path& folder, const Allowed& allowed,
                 const std::function<Status(ModelSource&)>& complete,
                 std::vector<ModelSource>& sources, ChooserOptions& tasks);

// Lets networks be made for the classes that are seen, for the first task of `options`.
struct SpecialsOptions {
  std::filesystem::path folder;    // of the task's catalog
  catalog::SpecialiseOptions how;  // its recipe has the data; classes and file are not read
  // Makes the device that learns, when it is needed first.
  std::function<Result<std::unique_ptr<Device>>()> device;
};
// kInvalidArgument where the recipe cannot be; fails as read_catalog() and open_variant() do.
Status add_specials_maker(const SpecialsOptions& specials, ServerOptions& options);

}  // namespace shoal::serve
