// Protection of a plan, in three steps. Lowering makes every product that is to be coded plain,
// step by step, until nothing fused is left. The copy then turns each coded product into a segment
// of N shares and r parities on N + r different workers, followed by a Concat that every reader
// computes after decoding; all else becomes a segment with r + 1 copies of each task on different
// workers. Last, the result is verified against every loss of r workers, so a mistake here fails
// planning and not a request.
#include "shoal/plan/coding/protect.h"

#include <algorithm>
#include <set>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/coding/erasure.h"

namespace shoal::plan {
namespace {

using CodedSegments = std::vector<CodedSegment>;

// A graph and a plan for it, on their way.
struct Draft {
  Graph graph;
  Plan plan;
};

bool has_fused_products(const Graph& graph, const CodedSegments& segments) {
  return std::ranges::any_of(segments, [&](const CodedSegment& segment) {
    return std::ranges::any_of(segment.products, [&](const auto& product) {
      return !is_plain(graph.nodes()[product.first]);
    });
  });
}

// One step of lowering: activations and rounding of products to be coded become separate nodes.
Result<Draft> lowered(const Graph& graph, const Plan& plan, const CodedSegments& coded) {
  passes::Rewriter rewriter(graph);
  Draft draft;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    Segment& copy = draft.plan.segments.emplace_back(plan.segments[s]);
    copy.nodes.begin = rewriter.to().nodes().size();
    for (size_t i = plan.segments[s].nodes.begin; i < plan.segments[s].nodes.end; ++i) {
      const Node& node = graph.nodes()[i];
      if (!coded[s].products.contains(i) || is_plain(node)) {
        SHOAL_TRY(rewriter.copy(node));
        continue;
      }
      SHOAL_ASSIGN(const ValueId output,
                   append_lowered(node, rewriter.map(node.inputs), rewriter.to()));
      rewriter.replace(node.outputs[0], output);
    }
    copy.nodes.end = rewriter.to().nodes().size();
    for (Task& task : copy.tasks) {
      for (Piece& piece : task.outputs) piece.value = rewriter.map(piece.value);
    }
  }
  SHOAL_ASSIGN(draft.graph, rewriter.finish());
  return draft;
}

// Copies the graph, segment by segment. Nodes that follow a coded product in its segment go to the
// next segment, which reads the product.
class Protector {
 public:
  Protector(const Draft& draft, int losses, const std::vector<int>& workers)
      : from_(draft.plan), losses_(losses), workers_(workers), rewriter_(draft.graph) {
    result_.plan.survives = losses;
  }

  Result<Protected> run(const CodedSegments& coded) {
    for (size_t s = 0; s < from_.segments.size(); ++s) {
      const Segment& segment = from_.segments[s];
      for (size_t i = segment.nodes.begin; i < segment.nodes.end; ++i) {
        const auto product = coded[s].products.find(i);
        SHOAL_TRY(product == coded[s].products.end()
                      ? rewriter_.copy(rewriter_.from().nodes()[i])
                      : add_coded(rewriter_.from().nodes()[i], product->second));
      }
      if (coded[s].products.empty() && !(coded[s].is_light && is_after_code_)) {
        close(repeated(segment.split), repeated(segment), coded[s].why_not);
        is_after_code_ = false;
      }
    }
    SHOAL_ASSIGN(result_.graph, rewriter_.finish());
    if (closed_ < result_.graph.nodes().size()) add_last();
    for (size_t s = 0; s < result_.plan.segments.size(); ++s) give_what_is_left(s);
    return std::move(result_);
  }

 private:
  // The nodes since the last segment are one.
  void close(std::string split, std::vector<Task> tasks, std::string why_not) {
    const size_t end = rewriter_.to().nodes().size();
    if (end == closed_) return;
    result_.plan.segments.push_back({{closed_, end}, std::move(split), std::move(tasks)});
    result_.not_coded.push_back(std::move(why_not));
    closed_ = end;
  }

  Status add_coded(const Node& node, const SharedProduct& product) {
    SHOAL_ASSIGN(CodedProduct coded,
                 append_coded(rewriter_.from(), node, product.split, rewriter_.map(node.inputs),
                              losses_, rewriter_.to()));
    std::vector<Task> tasks;
    for (size_t i = 0; i < coded.data.size(); ++i) {
      tasks.push_back({product.workers[i], {whole(coded.data[i])}});
    }
    for (ValueId parity : coded.parity) tasks.push_back({spare(tasks), {whole(parity)}});
    close("channels over " + std::to_string(coded.data.size()) + " + " + std::to_string(losses_),
          std::move(tasks), {});
    SHOAL_ASSIGN(const ValueId merged,
                 rewriter_.to().add(ops::concat, coded.data,
                                    {{"axis", static_cast<int64_t>(product.split.axis)}}));
    rewriter_.replace(node.outputs[0], merged);
    is_after_code_ = true;
    result_.plan.codes.push_back({std::move(coded.data), std::move(coded.parity),
                                  product.split.axis, std::move(coded.coefficients)});
    return {};
  }

  // REQUIRES: a worker without a task. find_coded_segments() has made sure that there is one.
  int spare(const std::vector<Task>& tasks) const {
    return *std::ranges::find_if(workers_, [&](int worker) {
      return std::ranges::find(tasks, worker, &Task::worker) == tasks.end();
    });
  }

  std::string repeated(const std::string& split) const {
    return split + ", " + std::to_string(losses_ + 1) + " times";
  }

  // Copies every task to the workers that follow its own, in a circle. Consecutive workers share
  // copies of neighbouring pieces, so that most reads stay local.
  std::vector<Task> repeated(const Segment& segment) {
    std::vector<Task> tasks;
    for (Task task : segment.tasks) {
      for (Piece& piece : task.outputs) piece.value = rewriter_.map(piece.value);
      const auto at = std::ranges::find(workers_, task.worker) - workers_.begin();
      for (int copy = 0; copy <= losses_; ++copy) {
        task.worker = workers_[static_cast<size_t>(at + copy) % workers_.size()];
        tasks.push_back(task);
      }
    }
    return tasks;
  }

  // The nodes after the last coded product: on as many workers as it takes.
  void add_last() {
    std::vector<Task> tasks;
    for (int i = 0; i <= losses_; ++i) tasks.push_back({workers_[static_cast<size_t>(i)], {}});
    result_.plan.segments.push_back({{closed_, result_.graph.nodes().size()},
                                     repeated("worker " + std::to_string(workers_[0])),
                                     std::move(tasks)});
    result_.not_coded.push_back("it puts together what is coded");
  }

  // Values that are read later and that no task gives yet, because they waited for this segment.
  // All workers of a coded product have computed them anyway; otherwise as many workers give them
  // as it takes.
  void give_what_is_left(size_t s) {
    Segment& segment = result_.plan.segments[s];
    std::set<ValueId> known;
    for (const Task& task : segment.tasks) {
      for (const Piece& piece : task.outputs) known.insert(piece.value);
    }
    const bool is_coded = result_.not_coded[s].empty();
    for (ValueId id : live_after(result_.graph, segment.nodes)) {
      if (known.contains(id)) continue;
      std::set<int> givers;
      for (Task& task : segment.tasks) {
        if (!is_coded && std::ssize(givers) > losses_) break;
        if (givers.insert(task.worker).second) {
          task.outputs.push_back({id, Region::whole(result_.graph[id].type.shape)});
        }
      }
    }
  }

  Piece whole(ValueId id) { return {id, Region::whole(rewriter_.to()[id].type.shape)}; }

  const Plan& from_;
  const int losses_;
  const std::vector<int>& workers_;
  passes::Rewriter rewriter_;
  size_t closed_ = 0;           // nodes that are in segments
  bool is_after_code_ = false;  // the others read what is coded, or what comes after it
  Protected result_;
};

// Lowers until all products to be coded are plain. Products that turn out not to be codable on the
// way are repeated instead.
Result<Draft> lower_all(const Graph& graph, const Plan& plan, size_t spare,
                        const std::vector<int>& workers, CodedSegments& coded) {
  Draft draft{graph, plan};
  for (;;) {
    SHOAL_ASSIGN(const Schedule schedule, make_schedule(draft.graph, draft.plan));
    coded = find_coded_segments(draft.graph, draft.plan, schedule, spare, workers);
    if (!has_fused_products(draft.graph, coded)) return draft;
    SHOAL_ASSIGN(draft, lowered(draft.graph, draft.plan, coded));
  }
}

}  // namespace

Result<Protected> protect(const Graph& graph, const Plan& plan, int losses,
                          const std::vector<int>& workers, bool coded) {
  if (losses < 1 || losses > kMostParities) {
    return invalid("a plan can survive the loss of 1 or 2 workers");
  }
  if (std::ssize(workers) <= losses) {
    return invalid("to survive the loss of " + std::to_string(losses) + " takes " +
                   std::to_string(losses + 1) + " workers");
  }
  CodedSegments segments(plan.segments.size(), {{}, "it was not asked for"});
  Draft draft{graph, plan};
  if (coded) {
    SHOAL_ASSIGN(draft, lower_all(graph, plan, static_cast<size_t>(losses), workers, segments));
  }
  SHOAL_ASSIGN(Protected protected_plan, Protector(draft, losses, workers).run(segments));
  SHOAL_TRY(
      verify(protected_plan.graph, protected_plan.plan, *std::ranges::max_element(workers) + 1));
  return protected_plan;
}

}  // namespace shoal::plan
