// shoal plan: how a model would be spread over devices, and what that should bring.
#include "apps/commands/plans/plan.h"

#include <cstdio>

#include "cli.h"
#include "facts.h"
#include "model.h"
#include "planning.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/report/pages/plan_page.h"

namespace shoal::cli {
namespace {

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
  std::vector<std::string> with;  // models beside the first
  std::vector<double> rates;      // requests a second, of each model; empty: one for each
  std::string svg, html;
  bool json = false;
};

void print(const std::vector<Facts>& rows, const std::vector<Facts>& workers) {
  table_of(rows).print();
  std::printf("\n");
  table_of(workers).print();
}

std::vector<Facts> rows_of(const Planned& planned) { return segment_rows(planned); }
std::vector<Facts> rows_of(const PlannedStream& planned) { return stage_rows(planned); }

template <class Made>
void print(const Made& planned) {
  print(rows_of(planned), worker_rows(planned));
  std::printf("\n%s", summary_text(planned).c_str());
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

// Several models on one cluster.
Outcome plan_tenants(const Flags& flags) {
  std::vector<std::string> models = {flags.plan.model};
  models.insert(models.end(), flags.with.begin(), flags.with.end());
  SHOAL_OR_EXIT(plan::Tenancy asked, Exit::kUsage, plan::tenancy_of(models, flags.rates));
  SHOAL_OR_EXIT(asked.cluster, Exit::kUsage, make_cluster(flags.plan));
  std::vector<Graph> graphs;
  for (const std::string& model : asked.models) {
    SHOAL_OR_EXIT(graphs.emplace_back(), Exit::kModel, load_optimized(model, flags.plan.shapes));
  }
  SHOAL_OR_EXIT(const plan::Tenancy made, Exit::kResources,
                plan_together(std::move(asked), graphs, {.excluded = flags.plan.excluded}));
  if (flags.json) {
    print_json(to_json(made));
    return {};
  }
  print(model_rows(made), worker_rows(made));
  return {};
}

Outcome plan_model(const Flags& flags) {
  if (!flags.with.empty()) return plan_tenants(flags);
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan));
  if (flags.plan.is_stream()) {
    SHOAL_OR_EXIT(const PlannedStream planned, Exit::kModel,
                  make_planned_stream(flags.plan, std::move(cluster)));
    return show(flags, planned);
  }
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
  Option* others = command.add_option(
      "--with", flags.with, "Another model on the same workers, planned together; may be repeated");
  command
      .add_option("--rates", flags.rates, "Requests a second of each model, the first one first",
                  in_range(1e-9, 1e9))
      ->delimiter(',')
      ->needs(others);
  command.add_option("--svg", flags.svg, "Write a picture: who computes and sends what when");
  command.add_option("--html,--report", flags.html,
                     "Write the picture as a page, with names on hover");
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
