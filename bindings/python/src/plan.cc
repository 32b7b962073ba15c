// Plans for hypothetical clusters. shoal/_plan.py makes a Plan of the results.
#include <pybind11/stl.h>

#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"
#include "shoal/plan/summary.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

// Only numbers and texts are returned: the Python side can change without a new binary.
py::dict plan_for(const LoadedGraph& loaded, size_t workers, std::string device, std::string link,
                  int survive, std::vector<int> exclude) {
  const plan::SummaryOptions options{.workers = workers,
                                     .device = std::move(device),
                                     .link = std::move(link),
                                     .survive = survive,
                                     .excluded = std::move(exclude)};
  auto planned = [&] {
    const ReleasedGil released;
    return plan::summarize(loaded.graph, options);
  }();
  const plan::Summary made = unwrap(std::move(planned));
  py::list busy, segments, kinds;
  for (const plan::WorkerSummary& worker : made.workers) {
    busy.append(py::make_tuple(worker.name, worker.compute_seconds, worker.transfer_seconds,
                               static_cast<int64_t>(worker.memory_bytes)));
  }
  for (const plan::SegmentSummary& segment : made.segments) {
    segments.append(py::make_tuple(segment.split, py::tuple(py::cast(segment.nodes)),
                                   py::tuple(py::cast(segment.workers))));
  }
  for (const plan::KindSummary& kind : made.kinds) {
    kinds.append(py::make_tuple(kind.kind, kind.seconds));
  }
  return py::dict(py::arg("kind") = made.kind, py::arg("seconds") = made.seconds,
                  py::arg("single_seconds") = made.single_seconds,
                  py::arg("wire_bytes") = static_cast<int64_t>(made.wire_bytes),
                  py::arg("messages") = made.messages, py::arg("survives") = made.survives,
                  py::arg("workers") = busy, py::arg("segments") = segments,
                  py::arg("alternatives") = kinds, py::arg("text") = made.text);
}

}  // namespace

void add_plan(py::module_& module) {
  module.def("_plan", &plan_for, py::arg("graph"), py::arg("workers"), py::arg("device"),
             py::arg("link"), py::arg("survive"), py::arg("exclude"),
             "What shoal.plan() makes a Plan of.");
}

}  // namespace shoal::python
