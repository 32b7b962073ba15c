// Refitting after removal: reconstruction as in channel pruning (He et al. 2017). A layer that lost
// inputs gets new weights. From the inputs that stay, they give what the layer gave in the whole
// network. With x its inputs in the smaller network and y its outputs in the whole one, over
// examples,
//
//   W' = argmin sum ||y - W' x||² + sum over j of lambda_j ||W'_j - W_j||²
//      = W + R Xᵀ (X Xᵀ + diag(lambda))^-1,   R = Y - W X,
//
// lambda_j being a small share of the energy of feature j. A bias is the weight of a feature that
// is always 1. Layers come first to last, each behind those that are refitted already, so that
// errors do not add up. The error on what is looked at never rises.
//
// What a least-squares fit cannot explain it leaves out, so that its outputs vary less than y.
// Where much was removed, that adds up over the layers, and networks with norms put behind such
// layers were seen to diverge. RefitOptions::keeps_variance scales each output of W' around its
// mean to the variance of y, as norms would (REPAIR, Jordan et al. 2023).
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

// A layer that got other weights: the sum of ||y - W x||² over what was looked at.
struct LayerFit {
  std::string layer;  // the name of its output
  double before = 0, after = 0;
};

// What remove(graph, groups, units) should have.
struct Refitted {
  std::map<std::string, Tensor> weights;  // by name, biases among them
  std::vector<LayerFit> layers;           // in the graph's order
  // The products that read something else and keep their weights, with the reason: a line each.
  std::vector<std::string> left;
};

// How layers are fitted.
struct RefitOptions {
  // Each output of a layer that has a bias varies as it did in the whole network, but for those of
  // the last layer. The error may rise by that.
  bool keeps_variance = false;
};

// Looks at places of all examples, whose values must fit into memory. Convolutions of one group,
// Gemm and MatMul with weights that nobody else reads are refitted; with a bias only if they have
// one. Fails as remove(), the examples and the device do. REQUIRES: `groups` are those of the
// graph, and examples have its inputs.
Result<Refitted> refit(const Graph& graph, const Groups& groups, std::span<const size_t> units,
                       const CalibrationData& examples, Device& device,
                       const RefitOptions& options = {});

// Puts batch norms back. Exporters fold a norm into the convolution before it, and a deep network
// without norms learns at small rates only, or diverges. Behind a convolution whose channel c gives
// values of mean m_c and variance v_c, a BatchNormalization of
//
//   scale sqrt(v_c + epsilon), bias m_c, mean m_c, variance v_c
//
// changes no answer, but the network learns as one with norms does. passes::fold_batch_norm takes
// them out again. A network whose channels are removed between the two keeps the mean and the
// deviation that each channel had in the whole network, because a norm measures again what it
// reads.

// The mean and the variance of each channel.
struct ChannelMoments {
  std::vector<double> mean, variance;
};

// Of the convolutions that no norm follows, by the name of their output.
using ConvMoments = std::map<std::string, ChannelMoments>;

// What these convolutions give on the examples; those of f32 images with constant weights. Fails as
// the examples and the device do, and with kInvalidArgument if there are no examples.
Result<ConvMoments> conv_moments(const Graph& graph, const CalibrationData& examples,
                                 Device& device);

// The graph with a norm behind each of these convolutions. Fails with kInvalidArgument if one has
// another number of channels.
Result<Graph> with_norms(const Graph& graph, const ConvMoments& moments);

}  // namespace shoal::compress
