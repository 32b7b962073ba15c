#include "shoal/serve/protocol/metrics.h"

#include <functional>
#include <string_view>

#include "shoal/base/text/json_text.h"

namespace shoal::serve {
namespace {

using Value = std::function<double(const NamedStatistics&)>;

// A label's value is escaped as a JSON text is, as far as names of models go.
std::string labels_of(const NamedStatistics& model, std::string_view more = "") {
  return "{model=" + json_text(model.name) + ",version=" + json_text(model.version) +
         std::string(more) + "} ";
}

void begin_family(std::string& text, std::string_view name, std::string_view type,
                  std::string_view help) {
  text += "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " +
          std::string(name) + " " + std::string(type) + "\n";
}

struct Reason {
  std::string_view shoal, triton;
  uint64_t ModelStatistics::*count;
};
constexpr Reason kReasons[] = {{"refused", "REJECTED", &ModelStatistics::refused},
                               {"late", "OTHER", &ModelStatistics::late},
                               {"cancelled", "CANCELED", &ModelStatistics::cancelled},
                               {"failed", "BACKEND", &ModelStatistics::failed}};

double seconds(const Total& total) { return 1e-9 * static_cast<double>(total.ns); }

class Families {
 public:
  explicit Families(const std::vector<NamedStatistics>& models) : models_(models) {}

  void add(std::string_view name, std::string_view type, std::string_view help,
           const Value& value) {
    begin_family(text_, name, type, help);
    for (const NamedStatistics& model : models_) {
      text_ += std::string(name) + labels_of(model) + json_number(value(model)) + "\n";
    }
  }

  void add_failures(std::string_view name, std::string_view type, std::string_view help,
                    std::string_view Reason::*word) {
    begin_family(text_, name, type, help);
    for (const NamedStatistics& model : models_) {
      for (const Reason& reason : kReasons) {
        text_ += std::string(name) +
                 labels_of(model, ",reason=\"" + std::string(reason.*word) + "\"") +
                 std::to_string(model.statistics.*reason.count) + "\n";
      }
    }
  }

  // Each bucket counts those below it, too: that is the format.
  void add_latencies(std::string_view name, std::string_view help) {
    begin_family(text_, name, "histogram", help);
    const std::string family(name);
    for (const NamedStatistics& model : models_) {
      const LatencyHistogram& latency = model.statistics.latency;
      uint64_t count = 0;
      for (size_t i = 0; i < latency.counts.size(); ++i) {
        count += latency.counts[i];
        const std::string bound = i < LatencyHistogram::kBounds.size()
                                      ? json_number(LatencyHistogram::kBounds[i])
                                      : "+Inf";
        text_ += family + "_bucket" + labels_of(model, ",le=\"" + bound + "\"") +
                 std::to_string(count) + "\n";
      }
      text_ += family + "_sum" + labels_of(model) + json_number(seconds(model.statistics.success)) +
               "\n" + family + "_count" + labels_of(model) + std::to_string(count) + "\n";
    }
  }

  std::string take() { return std::move(text_); }

 private:
  const std::vector<NamedStatistics>& models_;
  std::string text_;
};

Value count_of(uint64_t ModelStatistics::*member) {
  return [member](const NamedStatistics& m) { return static_cast<double>(m.statistics.*member); };
}

struct Phase {
  std::string_view name, help;
  std::function<const Total&(const ModelStatistics&)> total;
};

const std::vector<Phase>& phases() {
  static const std::vector<Phase> all = {
      {"request", "from arrival to answer",
       [](const ModelStatistics& s) -> const Total& { return s.success; }},
      {"queue", "waiting", [](const ModelStatistics& s) -> const Total& { return s.queue; }},
      {"compute_input", "preparing inputs",
       [](const ModelStatistics& s) -> const Total& { return s.compute.input; }},
      {"compute_infer", "running the model",
       [](const ModelStatistics& s) -> const Total& { return s.compute.infer; }},
      {"compute_output", "preparing outputs",
       [](const ModelStatistics& s) -> const Total& { return s.compute.output; }}};
  return all;
}

}  // namespace

std::string print_metrics(const std::vector<NamedStatistics>& models, bool triton) {
  Families out(models);
  const Value answered = [](const NamedStatistics& m) {
    return static_cast<double>(m.statistics.success.count);
  };
  const Value waiting = [](const NamedStatistics& m) { return static_cast<double>(m.waiting); };
  out.add("shoal_requests_answered_total", "counter", "Requests that were answered.", answered);
  out.add_failures("shoal_requests_failed_total", "counter", "Requests that were not answered.",
                   &Reason::shoal);
  out.add("shoal_inferences_total", "counter", "Items that models answered.",
          count_of(&ModelStatistics::inferences));
  out.add("shoal_batches_total", "counter", "Batches that models ran.",
          count_of(&ModelStatistics::executions));
  out.add("shoal_requests_waiting", "gauge", "Requests that wait for their turn.", waiting);
  out.add_latencies("shoal_request_duration_seconds",
                    "Answered requests, by the time from arrival to answer.");
  for (const Phase& phase : phases()) {
    out.add("shoal_" + std::string(phase.name) + "_seconds_total", "counter",
            "Time of answered requests " + std::string(phase.help) + ".",
            [&](const NamedStatistics& m) { return seconds(phase.total(m.statistics)); });
  }
  out.add("nv_inference_request_success", "untyped", "As Triton counts.", answered);
  out.add_failures("nv_inference_request_failure", "untyped", "As Triton counts.", &Reason::triton);
  out.add("nv_inference_count", "untyped", "As Triton counts.",
          count_of(&ModelStatistics::inferences));
  out.add("nv_inference_exec_count", "untyped", "As Triton counts.",
          count_of(&ModelStatistics::executions));
  out.add("nv_inference_pending_request_count", "untyped", "As Triton counts.", waiting);
  if (!triton) return out.take();
  for (const Phase& phase : phases()) {
    out.add("nv_inference_" + std::string(phase.name) + "_duration_us", "counter",
            "As Triton counts.",
            [&](const NamedStatistics& m) { return 1e6 * seconds(phase.total(m.statistics)); });
  }
  return out.take();
}

std::string print_leader_metric(bool leads) {
  std::string text;
  begin_family(text, "shoal_leader", "gauge", "1 where this server answers, 0 where it stands by.");
  return text + "shoal_leader " + (leads ? "1" : "0") + "\n";
}

}  // namespace shoal::serve
