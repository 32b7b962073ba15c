// shoal demo: the default command of 'shoal emulate'. A small and a large model on one device and
// on all of them.
#include <cstdio>

#include "../exit_codes.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/base/terminal/table.h"

namespace shoal::cli {
namespace {

Outcome show() {
  SHOAL_OR_EXIT(auto access, Exit::kNetwork, open_access({}));
  const std::string all = std::to_string(access->coordinator().worker_count()) + " devices ms";
  Table table({"model", "plan", "one device ms", all, "predicted ms", "speed-up"});
  for (const char* model : {"zoo:digits", "zoo:resnet18"}) {
    std::fprintf(stderr, "%s: plan, deploy, run\n", model);
    PlanFlags flags;
    flags.model = model;
    SHOAL_OR_EXIT(Planned planned, Exit::kModel,
                  make_planned(flags, [&](const Graph& graph) { return access->profile(graph); }));
    const auto figures = measure(*access, planned, 0, false);
    if (!figures.ok()) return fail(Doing::kTalk, figures.status());
    table.add({model, planned.best().name, fixed(1e3 * figures->single.seconds, 1),
               fixed(1e3 * figures->many.seconds, 1),
               fixed(1e3 * planned.best().timeline.seconds, 1), fixed(figures->speedup(), 2)});
  }
  table.print();
  return {};
}

}  // namespace

void add_demo(Command& app, Action& action) {
  Command* command = app.add_subcommand("demo", "What 'shoal emulate' shows without a command");
  command->callback([&action] { action = show; });
}

}  // namespace shoal::cli
