// shoal plan: how a model would be spread over devices, and what that should bring.
#include <cstdio>

#include "apps/flags/json.h"
#include "cli.h"
#include "planning.h"
#include "shoal/base/atomic_file.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/report/plan_page.h"
#include "streaming.h"
#include "table.h"
#include "tenants.h"

namespace shoal::cli {
namespace {

using plan::Prediction;

constexpr const char* kExamples = R"(
Examples:
  shoal plan zoo:vgg16 --workers 4 --device nexus5 --link wifi-43.8
  shoal plan model.onnx cluster.toml --html plan.html    with a picture of who does what when
  shoal plan zoo:vgg16 --workers 4 --split rows --json   this split, for comparison
  shoal plan zoo:vgg16 --workers 5 --survive 1           what it costs to lose one unnoticed
  shoal plan zoo:vgg16 --with zoo:resnet18 --rates 0.5,4  two models on the same workers
  shoal plan zoo:vgg16 --device board:cpu+opencl:0       this machine's processor and GPU, measured
The devices need not be there: profiles of common ones are built in (docs/reference/cluster.md).)";

struct Flags {
  PlanFlags plan;
  TenantFlags tenants;
  std::string svg, html;
  bool json = false;
};

void print_segments(const Planned& planned) {
  const Prediction& best = planned.best();
  Table table({"nodes", "from", "to", "split", "compute ms", "received"});
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const plan::Segment& segment = best.plan().segments[s];
    const auto nodes = best.graph().nodes();
    int64_t received = 0;
    for (const plan::Transfer& transfer : best.schedule().transfers) {
      if (transfer.segment == s) received += bytes_of(best.graph(), transfer.piece);
    }
    table.add({std::to_string(segment.nodes.end - segment.nodes.begin),
               place_of(best.graph(), nodes[segment.nodes.begin]),
               place_of(best.graph(), nodes[segment.nodes.end - 1]), segment.split,
               fixed(1e3 * best.timeline.longest_task(s), 1), in_bytes(received)});
  }
  table.print();
}

void print_workers(const Planned& planned) {
  const Prediction& best = planned.best();
  const auto memory =
      memory_bytes(best.graph(), best.plan(), best.schedule(), planned.cluster.workers.size());
  Table table({"worker", "name", "compute ms", "transfer ms", "memory"});
  for (size_t w = 0; w < memory.size(); ++w) {
    table.add({std::to_string(w), planned.cluster.workers[w].name,
               fixed(1e3 * best.timeline.compute_seconds[w], 1),
               fixed(1e3 * best.timeline.transfer_seconds[w], 1),
               in_bytes(static_cast<long long>(memory[w]))});
  }
  table.print();
}

void print(const Planned& planned) {
  const Prediction& best = planned.best();
  print_segments(planned);
  std::printf("\n");
  print_workers(planned);
  // Where workers repeat each other, nearly all is read more than once: there is no halo to speak
  // of.
  const std::string halos =
      best.plan().survives > 0
          ? ""
          : ", " + in_bytes(halo_bytes(best.graph(), best.plan(), best.schedule())) +
                " of them halos";
  std::printf("\n%s: %s ms, %s times as fast as one worker (%s ms); %s travel%s\n",
              best.name.c_str(), fixed(1e3 * best.timeline.seconds, 1).c_str(),
              fixed(planned.speedup(), 2).c_str(),
              fixed(1e3 * planned.single.timeline.seconds, 1).c_str(),
              in_bytes(static_cast<long long>(best.timeline.wire_bytes)).c_str(), halos.c_str());
  if (const std::string text = price_text(planned); !text.empty())
    std::printf("%s\n", text.c_str());
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const Prediction& other = planned.plans[i];
    std::printf("%s: %s ms: %s\n", other.name.c_str(),
                fixed(1e3 * other.timeline.seconds, 1).c_str(), why_slower(planned, other).c_str());
  }
  std::printf("%s\n", advice_text(planned).c_str());
}

template <class Made>
Outcome show(const Flags& flags, const Made& planned) {
  flags.json ? print_json(to_json(planned)) : print(planned);
  Status written;
  if (!flags.svg.empty()) {
    written = write_file(flags.svg, report::plan_picture(planned.model, planned));
  }
  if (written.ok() && !flags.html.empty()) {
    written = write_file(flags.html, report::plan_page(planned.model, planned));
  }
  return written.ok() ? Outcome{} : fail(Exit::kResources, written);
}

Outcome plan_stream(const Flags& flags, plan::ClusterProfile cluster) {
  SHOAL_OR_EXIT(const PlannedStream planned, Exit::kModel,
                make_planned_stream(flags.plan, std::move(cluster)));
  return show(flags, planned);
}

Outcome plan_model(const Flags& flags) {
  if (!flags.tenants.with.empty()) {
    return plan_together(flags.plan, flags.tenants, flags.json);
  }
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan));
  if (flags.plan.is_stream()) return plan_stream(flags, std::move(cluster));
  if (const Status status = check_survival(flags.plan, cluster); !status.ok()) {
    return fail(Exit::kUsage, status);
  }
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, std::move(cluster)));
  return show(flags, planned);
}

}  // namespace

void add_plan(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "plan", "Plan how to spread a model over several devices", kExamples,
                  plan_model);
  flags.plan.add_to(command);
  flags.tenants.add_to(command);
  command.add_option("--svg", flags.svg, "Write a picture: who computes and sends what when");
  command.add_option("--html", flags.html, "Write the picture as a page, with names on hover");
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
