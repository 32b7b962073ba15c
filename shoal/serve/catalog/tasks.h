// Catalogs behind a server: each is a task, whose variants are models from which a scheduler
// chooses, and for which special networks may be made while the server runs [Han 2016].
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/serve/catalog/budgets.h"
#include "shoal/serve/http/http_server.h"
#include "shoal/variants/catalog/specialists/specialise.h"

namespace shoal::serve {

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
