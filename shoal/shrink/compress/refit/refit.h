// Refitting after removal: reconstruction as in channel pruning (He et al. 2017). A layer that lost
// inputs gets weights that reproduce its output in the whole network. With x its inputs in the
// smaller network and y its outputs in the whole one, over examples,
//
//   W' = argmin sum ||y - W' x||² + sum over j of lambda_j ||W'_j - W_j||²
//      = W + R Xᵀ (X Xᵀ + diag(lambda))^-1,   R = Y - W X,
//
// with lambda_j a small share of the energy of feature j. A bias is the weight of a constant
// feature 1. Layers are refitted first to last, each on inputs from refitted layers, so that errors
// do not add up. The error on the examples never rises.
//
// Least squares shrinks the variance of outputs, which adds up over layers; networks with norms
// behind such layers were seen to diverge. RefitOptions::keeps_variance scales each output of W'
// around its mean to the variance of y (REPAIR, Jordan et al. 2023).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/quantization/calibration.h"
#include "shoal/shrink/compress/units/groups.h"

namespace shoal::compress {

// A refitted layer, and the sum of ||y - W x||² over the examples.
struct LayerFit {
  std::string layer;  // the name of its output
  double before = 0, after = 0;
};

// What remove(graph, groups, units) should have.
struct Refitted {
  std::map<std::string, Tensor> weights;  // by name, biases among them
  std::vector<LayerFit> layers;           // in the graph's order
  // Products with changed inputs that keep their weights, with the reason: a line each.
  std::vector<std::string> left;
};

// How layers are fitted.
struct RefitOptions {
  // Scales outputs to the whole network's variance in layers with a bias, except the last layer.
  // The error may rise by that.
  bool keeps_variance = false;
};

// Samples all examples, whose values must fit into memory. Refits convolutions of one group, Gemm
// and MatMul with weights that nothing else reads; a bias only if they have one. Fails as remove(),
// the examples and the device do. REQUIRES: `groups` are those of the graph, and examples have its
// inputs.
Result<Refitted> refit(const Graph& graph, const Groups& groups, std::span<const size_t> units,
                       const CalibrationData& examples, Device& device,
                       const RefitOptions& options = {});

// Restores batch norms. Exporters fold a norm into the convolution before it, and a deep network
// without norms needs a small rate, or diverges. Behind a convolution whose channel c has mean m_c
// and variance v_c, a BatchNormalization of
//
//   scale sqrt(v_c + epsilon), bias m_c, mean m_c, variance v_c
//
// changes no answer, but training behaves as with norms. passes::fold_batch_norm removes them
// again. If channels are removed in between, each channel keeps the mean and deviation it had in
// the whole network, because a norm measures its input anew.

struct ChannelMoments {
  std::vector<double> mean, variance;
};

// Of the convolutions that no norm follows, by the name of their output.
using ConvMoments = std::map<std::string, ChannelMoments>;

// The output moments of these convolutions of f32 images with constant weights. Fails as the
// examples and the device do; kInvalidArgument without examples.
Result<ConvMoments> conv_moments(const Graph& graph, const CalibrationData& examples,
                                 Device& device);

// The graph with a norm behind each of these convolutions. Fails with kInvalidArgument if one has
// another number of channels.
Result<Graph> with_norms(const Graph& graph, const ConvMoments& moments);

}  // namespace shoal::compress
