// Plans for clusters that need not be there. shoal/_plan.py makes a Plan of what is returned here.
#include <pybind11/stl.h>

#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/comparison.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

constexpr size_t kMostWorkers = 4096;
constexpr int kMostLosses = 2;

struct Question {
  size_t workers;
  std::string device, link;
  int survive;
  std::vector<int> exclude;
};

Status check_numbers(const Question& question) {
  if (question.workers < 1 || question.workers > kMostWorkers) {
    return invalid("workers must be between 1 and " + std::to_string(kMostWorkers));
  }
  if (question.survive < 0 || question.survive > kMostLosses) {
    return invalid("survive must be between 0 and " + std::to_string(kMostLosses));
  }
  for (int worker : question.exclude) {
    if (worker < 0 || static_cast<size_t>(worker) >= question.workers) {
      return invalid("there is no worker " + std::to_string(worker) + " to exclude");
    }
  }
  return plan::check_survival(question.workers, question.exclude.size(), question.survive);
}

Result<plan::Comparison> compare(const Graph& graph, const Question& question) {
  SHOAL_TRY(check_numbers(question));
  SHOAL_ASSIGN(const plan::DevicePreset device, plan::find_device(question.device));
  SHOAL_ASSIGN(const plan::LinkPreset link, plan::find_link(question.link));
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(graph));
  plan::PlanOptions options;
  options.survive = question.survive;
  options.excluded = question.exclude;
  return plan::compare_plans(optimized, plan::uniform_cluster(question.workers, device, link),
                             options);
}

py::list workers_of(const plan::Comparison& made) {
  const plan::Prediction& best = made.best();
  const std::vector<double> memory =
      plan::memory_bytes(best.graph(), best.plan(), best.schedule(), made.cluster.workers.size());
  py::list workers;
  for (size_t w = 0; w < memory.size(); ++w) {
    workers.append(py::make_tuple(made.cluster.workers[w].name, best.timeline.compute_seconds[w],
                                  best.timeline.transfer_seconds[w],
                                  static_cast<int64_t>(memory[w])));
  }
  return workers;
}

py::list segments_of(const plan::Prediction& best) {
  py::list segments;
  for (const plan::Segment& segment : best.plan().segments) {
    py::list nodes, workers;
    for (size_t n = segment.nodes.begin; n < segment.nodes.end; ++n) {
      nodes.append(place_of(best.graph(), best.graph().nodes()[n]));
    }
    for (const plan::Task& task : segment.tasks) workers.append(task.worker);
    segments.append(py::make_tuple(segment.split, py::tuple(nodes), py::tuple(workers)));
  }
  return segments;
}

py::dict plan_for(const LoadedGraph& loaded, size_t workers, std::string device, std::string link,
                  int survive, std::vector<int> exclude) {
  const Question question{workers, std::move(device), std::move(link), survive, std::move(exclude)};
  auto compared = [&] {
    const ReleasedGil released;
    return compare(loaded.graph, question);
  }();
  const plan::Comparison made = unwrap(std::move(compared));
  const plan::Prediction& best = made.best();
  py::list alternatives;
  for (const plan::Prediction& other : made.plans) {
    alternatives.append(py::make_tuple(other.name, other.timeline.seconds));
  }
  return py::dict(py::arg("kind") = best.name, py::arg("seconds") = best.timeline.seconds,
                  py::arg("single_seconds") = made.single.timeline.seconds,
                  py::arg("wire_bytes") = static_cast<int64_t>(best.timeline.wire_bytes),
                  py::arg("messages") = best.schedule().transfers.size(),
                  py::arg("survives") = best.plan().survives, py::arg("workers") = workers_of(made),
                  py::arg("segments") = segments_of(best), py::arg("alternatives") = alternatives);
}

}  // namespace

void add_plan(py::module_& module) {
  module.def("_plan", &plan_for, py::arg("graph"), py::arg("workers"), py::arg("device"),
             py::arg("link"), py::arg("survive"), py::arg("exclude"),
             "What shoal.plan() makes a Plan of.");
}

}  // namespace shoal::python
