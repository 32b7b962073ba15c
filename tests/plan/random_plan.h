// Random networks and random plans for them.
#pragma once

#include <random>
#include <vector>

#include "shoal/plan/layout.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

using Rng = std::mt19937;
int64_t draw(Rng& rng, int64_t low, int64_t high);
Tensor random_tensor(Rng& rng, const Shape& shape);

// Images of one to three axes through convolutions, pools, sums and activations. It may have no
// nodes at all.
Graph random_network(Rng& rng);

// A matrix of blocks of rows and columns whose numbers have the same remainder. Some rows and
// columns are dead.
struct BlockMatrix {
  int64_t rows = 0, columns = 0;
  int64_t blocks = 1;
  double inside = 1, outside = 0;  // density
  double dead = 0;                 // share of rows, and of columns
};
Tensor random_blocks(Rng& rng, const BlockMatrix& matrix);

// One to three sparse layers: Gemm of all kinds, MatMul, with and without an activation.
Graph random_sparse_layers(Rng& rng);

// Some of its products as uneven sums of at most `most_terms` terms.
Graph random_sums(Rng& rng, const Graph& graph, int most_terms);

// Any segments, any layouts, uneven shares.
Plan random_plan(Rng& rng, const Graph& graph, int workers);

// Every task by `more` additional workers, drawn from `workers`.
Plan random_replicas(Rng& rng, Plan plan, int more, int workers);

// Workers and links of all kinds.
ClusterProfile random_cluster(Rng& rng, int workers);

// Each node split by the layout; on worker 0 if it cannot be split so.
Plan split_each_node(const Graph& graph, const Layout& layout);

// To kSameAnswer of the largest (model/tensor/compare.h).
void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want);

}  // namespace shoal::plan
