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
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/quantization/calibration.h"

namespace shoal::compress {

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
