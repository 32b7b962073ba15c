// Generators of directed acyclic graphs.
#include "shoal/shrink/search/dag.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "shoal/base/overloaded.h"

namespace shoal::concurrent {
namespace {

bool is_probability(double p) { return p >= 0 && p <= 1; }

Status check(const Generator& generator, size_t vertices) {
  if (vertices < 1 || vertices > kMostVertices) {
    return invalid("a DAG can have 1 to " + std::to_string(kMostVertices) + " vertices");
  }
  const bool valid =
      std::visit(Overloaded{
                     [](const ErdosRenyi& er) { return is_probability(er.probability); },
                     [&](const BarabasiAlbert& ba) { return ba.edges >= 1 && ba.edges < vertices; },
                     [&](const WattsStrogatz& ws) {
                       // With fewer than all possible edges, a led edge always finds another end.
                       return ws.neighbours >= 2 && ws.neighbours % 2 == 0 &&
                              ws.neighbours + 1 < vertices && is_probability(ws.probability);
                     },
                     [](const DistanceProbability& dp) {
                       return is_probability(dp.alpha) && is_probability(dp.probability) &&
                              dp.beta > 0 && std::isfinite(dp.beta);
                     },
                 },
                 generator);
  return valid ? Status() : invalid("a parameter of the generator is out of range");
}

// An edge for each pair with the probability of the pair.
template <class Probability>
std::vector<Edge> independent_edges(size_t vertices, Draws& draws, const Probability& probability) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < vertices; ++i) {
    for (size_t j = i + 1; j < vertices; ++j) {
      if (draws.uniform() < probability(i, j)) edges.emplace_back(i, j);
    }
  }
  return edges;
}

std::vector<Edge> edges_of(const ErdosRenyi& er, size_t vertices, Draws& draws) {
  return independent_edges(vertices, draws, [&](size_t, size_t) { return er.probability; });
}

std::vector<Edge> edges_of(const DistanceProbability& dp, size_t vertices, Draws& draws) {
  return independent_edges(
      vertices, draws, [&](size_t i, size_t j) { return edge_probability(dp, vertices, i, j); });
}

std::vector<Edge> edges_of(const BarabasiAlbert& ba, size_t vertices, Draws& draws) {
  std::vector<Edge> edges;
  std::vector<size_t> ends;  // of all edges: each vertex occurs as often as its degree
  for (size_t v = ba.edges; v < vertices; ++v) {
    std::set<size_t> chosen;
    while (chosen.size() < ba.edges) {
      // All degrees are zero at first, and all vertices that there are must be taken.
      chosen.insert(ends.empty() ? chosen.size() : ends[draws.below(ends.size())]);
    }
    for (size_t to : chosen) {
      edges.emplace_back(to, v);
      ends.insert(ends.end(), {to, v});
    }
  }
  return edges;
}

std::vector<Edge> edges_of(const WattsStrogatz& ws, size_t vertices, Draws& draws) {
  const auto edge = [](size_t a, size_t b) { return Edge(std::min(a, b), std::max(a, b)); };
  std::set<Edge> edges;
  for (size_t i = 1; i <= ws.neighbours / 2; ++i) {
    for (size_t v = 0; v < vertices; ++v) edges.insert(edge(v, (v + i) % vertices));
  }
  std::vector<size_t> degrees(vertices, ws.neighbours);
  for (size_t i = 1; i <= ws.neighbours / 2; ++i) {
    for (size_t v = 0; v < vertices; ++v) {
      // A vertex that has an edge to all others keeps what it has.
      if (draws.uniform() >= ws.probability || degrees[v] + 1 == vertices) continue;
      const size_t old = (v + i) % vertices;
      size_t to = v;
      while (to == v || edges.count(edge(v, to)) != 0) to = draws.below(vertices);
      edges.erase(edge(v, old));
      edges.insert(edge(v, to));
      --degrees[old];
      ++degrees[to];
    }
  }
  return {edges.begin(), edges.end()};
}

}  // namespace

Dag make_dag(size_t count, const std::vector<Edge>& edges) {
  SHOAL_CHECK(count > 0);
  Dag dag;
  dag.predecessors.resize(count + 2);
  dag.successors.resize(count + 2);
  const auto connect = [&](size_t from, size_t to) {
    dag.successors[from].push_back(to);
    dag.predecessors[to].push_back(from);
  };
  for (const auto& [a, b] : edges) {
    SHOAL_CHECK(a != b && a < count && b < count);
    connect(std::min(a, b) + 1, std::max(a, b) + 1);
  }
  for (size_t v = 1; v <= count; ++v) {
    if (dag.predecessors[v].empty()) connect(0, v);
    if (dag.successors[v].empty()) connect(v, dag.sink());
  }
  for (size_t v = 0; v < dag.size(); ++v) {
    std::sort(dag.predecessors[v].begin(), dag.predecessors[v].end());
    std::sort(dag.successors[v].begin(), dag.successors[v].end());
  }
  return dag;
}

double longest_path(const Dag& dag, const std::vector<double>& weights) {
  std::vector<double> longest(dag.size(), 0);  // of the paths that end in a vertex
  for (size_t v = 0; v < dag.size(); ++v) {
    for (size_t from : dag.predecessors[v]) longest[v] = std::max(longest[v], longest[from]);
    longest[v] += weights[v];
  }
  return longest.back();
}

double edge_probability(const DistanceProbability& dp, size_t vertices, size_t i, size_t j) {
  const size_t between = std::max(i, j) - std::min(i, j);
  const size_t distance = std::min(between, vertices - between);
  return dp.alpha * std::pow(dp.probability, dp.beta * static_cast<double>(distance));
}

Result<Dag> generate(const Generator& generator, size_t vertices, uint64_t seed) {
  SHOAL_TRY(check(generator, vertices));
  Draws draws(seed);
  return std::visit(
      [&](const auto& kind) { return make_dag(vertices, edges_of(kind, vertices, draws)); },
      generator);
}

Result<Dag> generate_staged(const Generator& generator, size_t vertices, size_t stages,
                            uint64_t seed) {
  if (stages < 1 || vertices < 3 * stages) return invalid("too few vertices for so many stages");
  const size_t in_stages = vertices - (stages - 1);
  std::vector<Edge> edges;
  std::vector<size_t> leaves;  // of the stage before
  size_t first = 0;
  for (size_t stage = 0; stage < stages; ++stage) {
    if (stage > 0) {
      for (const size_t leaf : leaves) edges.emplace_back(leaf, first);
      ++first;  // past the barrier
    }
    const size_t count = in_stages / stages + (stage < in_stages % stages ? 1 : 0);
    SHOAL_ASSIGN(const Dag dag, generate(generator, count, seed + stage));
    leaves.clear();
    for (size_t v = 1; v < dag.sink(); ++v) {
      for (const size_t p : dag.predecessors[v]) {
        if (p > 0) edges.emplace_back(first + p - 1, first + v - 1);
        if (p == 0 && stage > 0) edges.emplace_back(first - 1, first + v - 1);
      }
      if (dag.successors[v] == std::vector{dag.sink()}) leaves.push_back(first + v - 1);
    }
    first += count;
  }
  return make_dag(vertices, edges);
}

}  // namespace shoal::concurrent
