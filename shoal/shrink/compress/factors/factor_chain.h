// A layer and the chain of factors that stands for it, in graphs.
#pragma once

#include <span>
#include <vector>

#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/factors/factorise.h"

namespace shoal::compress {

// Whether it is a Conv, Gemm or MatMul.
bool is_product(const Node& node);

// Why this node stays as it is; OK if the method can take it apart. `uses` are those of the graph.
Status accepts(const Factorisation& factorisation, const Graph& graph, const passes::UseDefs& uses,
               const Node& node);

// Channels of an image, or columns of a matrix. REQUIRES: the node is a product.
size_t feature_axis(const Graph& graph, const Node& node);

// The layer as its own only factor. REQUIRES: its weights are constant.
Factor factor_of(const Graph& graph, const Node& node);

// The chain alone, on the layer's input; without the bias, which is no part of the error.
Result<Graph> layer_graph(const Graph& graph, const Node& node, std::span<const Factor> factors);

// Puts the chain in the place of the node; the output keeps its name. Fails with kInternal where
// the factors are not those of the node. REQUIRES: there are factors.
Status replace(passes::Rewriter& rewriter, const Node& node, const std::vector<Factor>& factors);

}  // namespace shoal::compress
